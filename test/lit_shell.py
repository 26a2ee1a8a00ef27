"""lit's shell tests, also where the path of the tree has blanks. A module, not a part of
lit.cfg.py, because lit pickles it."""
import os

import lit.formats
import lit.TestRunner


def quoted(path):
    """As a RUN line needs it."""
    return path.replace(" ", "\\ ")


class Shell(lit.formats.ShTest):
    def execute(self, test, litConfig):
        source, name = test.getSourcePath(), lit.TestRunner.getTempPaths(test)[1] + ".tmp"
        own = []
        if " " in source + name:
            own = [("%s", quoted(source)), ("%S", quoted(os.path.dirname(source))), ("%t", quoted(name))]
        return lit.TestRunner.executeShTest(test, litConfig, False, own)
