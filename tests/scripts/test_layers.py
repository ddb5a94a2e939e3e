# SPDX-License-Identifier: GPL-2.0
"""tools/check layers: what runs upward in a small tree is found, and nothing else."""

import importlib.machinery
import importlib.util
import subprocess
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "tools" / "check"
LAYERS = "main", "upper", "lower"


def load():
    """tools/check as a module; its name has no ending."""
    loader = importlib.machinery.SourceFileLoader("check", str(CHECK))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    loader.exec_module(module)
    return module


class Layers(unittest.TestCase):
    check = load()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("main.c", '#include "upper/upper.h"\nint main(void) { return up(1); }\n')
        self.write("upper/upper.h", '#include "../lower/lower.h"\nint up(int n);\n')
        self.write("upper/a.c", '#include "upper.h"\nint up(int n) { return low(n); }\n')
        self.write("lower/lower.h", "int low(int n);\n")
        self.write("lower/b.c", '#include "lower.h"\nint low(int n) { return n; }\n')

    def write(self, name, text):
        path = self.root / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def arrows(self):
        """Compiles the tree, then asks."""
        for path in self.root.rglob("*.c"):
            subprocess.run(["cc", "-c", "-o", path.with_suffix(".o"), path], check=True)
        return list(self.check.arrows_up(self.root, self.root, {"toy": LAYERS}))

    def test_only_down(self):
        self.assertEqual(self.arrows(), [])

    def test_include_up(self):
        self.write("lower/b.c", '#include "lower.h"\n#include "../upper/upper.h"\n'
                                "int low(int n) { return n; }\n")
        self.assertEqual(self.arrows(), ["toy/lower/b.c:2: lower includes upper/upper.h"])

    def test_include_up_of_a_header(self):
        self.write("lower/lower.h", "struct u;\n# include \"../upper/x.h\"\nint low(int n);\n")
        self.write("upper/x.h", "")
        self.assertEqual(self.arrows(), ["toy/lower/lower.h:2: lower includes upper/x.h"])

    def test_call_up(self):
        self.write("lower/b.c", "extern int up(int n);\n"
                                "int low(int n) { return n ? up(n - 1) : 0; }\n")
        self.assertEqual(self.arrows(), ["toy/lower/b.c: lower names up of upper"])

    def test_name_up(self):
        """A function is named, though not called; data too."""
        self.write("upper/a.c", '#include "upper.h"\nint number;\n'
                                "int up(int n) { return low(n); }\n")
        self.write("lower/b.c", "extern int up(int n), number;\n"
                                "int (*const table[])(int) = { up };\n"
                                "int low(int n) { return n + number; }\n")
        self.assertEqual(self.arrows(), ["toy/lower/b.c: lower names number of upper",
                                         "toy/lower/b.c: lower names up of upper"])

    def test_a_function_passed_in_is_no_arrow(self):
        self.write("lower/b.c", "int low(int n) { return n; }\n"
                                "int apply(int (*f)(int)) { return f(1); }\n")
        self.write("main.c", "extern int apply(int (*f)(int)); extern int up(int n);\n"
                             "int main(void) { return apply(up); }\n")
        self.assertEqual(self.arrows(), [])

    def test_in_no_layer(self):
        self.write("other.c", "")
        self.write("more/c.c", "")
        self.assertEqual(self.arrows(), ["toy/more/c.c: lies in no layer",
                                         "toy/other.c: lies in no layer"])

    def test_not_built(self):
        found = list(self.check.arrows_up(self.root, self.root, {"toy": LAYERS}))
        self.assertIn("toy/lower/b.c: was not built", found)

    def test_pure(self):
        self.write("lower/b.c", '#include "lower.h"\n#include <linux/slab.h>\n')
        self.write("lower/types.h", "#include <linux/types.h>\n")
        self.assertEqual(list(self.check.includes_impure(self.root, {"toy/lower": {"types.h"}})),
                         ["toy/lower/b.c:2: includes <linux/slab.h>"])

    def test_every_source_is_in_a_layer(self):
        """The table of the real modules, and the tree, agree."""
        for module, layers in self.check.LAYERS.items():
            for name, layer in self.check.sources(CHECK.parents[1], module, layers).items():
                self.assertIsNotNone(layer, f"{module}/{name}")


if __name__ == "__main__":
    unittest.main()
