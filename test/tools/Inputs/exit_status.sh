# usage: exit_status.sh STATUS PROGRAM WORD...: fine if the program ends with that status; what it says goes through.
wanted=$1
shift
got=0
"$@" || got=$?
[ "$got" = "$wanted" ] && exit 0
echo "exit status $got instead of $wanted: $*" >&2
exit 1
