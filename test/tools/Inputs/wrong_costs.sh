# usage: wrong_costs.sh: every SPEC below is refused by zb-sched --costs with status 2, and what it says goes through.
for costs in f=0 b=0 f=0,b=0,w=0 f=1e-10 f=-1 f=-0.5 comm=-1 mem=-1 mem_w=2 f=nan f=inf \
  f=1e400 f= =1 f=1, f=1,,b=1 f=1=2 f=1x 'f= 1' f=+1 f=1,f=2 b:1=2; do
  sh "$(dirname "$0")/exit_status.sh" 2 zb-sched --ranks 2 --micro-batches 2 --schedule 1f1b --costs "$costs" || exit 1
done
