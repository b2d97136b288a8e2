package shellparse

import (
	"os/exec"
	"testing"
)

// evil is the file whose text runs canary when the shell evaluates it.
const evil = `printf '%s\n' 'a[$(canary)]' > evil; `

// TestRealArithmeticIsUnclear runs lines that have the shell evaluate the text of a file, and checks that
// the text runs, and that the reading does not claim to know what runs.
func TestRealArithmeticIsUnclear(t *testing.T) {
	w := newWorld(t)
	for i, line := range realLines(t, "real_arithmetic.txt") {
		if r := w.read(line); r.Static() || r.Safe() {
			t.Errorf("%s\n\tis clear:\n%s", line, dump(r))
		}
		if testing.Short() && i%shortRuns != 0 {
			continue
		}
		if _, canary := w.run(t, evil+line); !canary {
			t.Errorf("%s\n\tdoes not run canary", line)
		}
	}
}

// TestArithmeticWithNumbersIsClear reads lines that evaluate only numbers. They run nothing that the
// reading does not name, whatever is in their files.
func TestArithmeticWithNumbersIsClear(t *testing.T) {
	w := newWorld(t)
	for i, line := range realLines(t, "arithmetic_clear.txt") {
		if r := w.read(line); !r.Static() {
			t.Errorf("%s\n\tis unclear: %q", line, r.Unclear)
		}
		if testing.Short() && i%shortRuns != 0 {
			continue
		}
		if _, canary := w.run(t, evil+"cp evil a; cp evil list; "+line+" < evil"); canary {
			t.Errorf("%s\n\truns canary", line)
		}
	}
}

// TestNumbersOfPrograms runs the programs whose output is read as a number, with files and texts that are
// made to print something else.
func TestNumbersOfPrograms(t *testing.T) {
	w := newWorld(t)
	for _, line := range []string{
		"wc -l < evil", "cat evil | wc -lwc", "wc -m < evil", "cat evil | wc -L", "wc < evil",
		"nproc", "nproc --all", "seq 3", "seq 2 -1 0", "seq 1 0.5 2", "id -u", "id -g",
		"expr 1 + 2", "expr 7 / 2", "expr 2 \\* 3", "expr 1 '<' 2", "expr length abc", "expr 1 + 1",
		"date +%s", "date +%s%N", "date -u +%Y-%m-%d", "date -d 2020-01-01 +%s", "date -r evil +%s", "date +%H:%M", "date -d nonsense +%s",
		"grep -c a evil", "grep -c a < evil", "cat evil | grep -ci x", "grep -cv -e a evil", "grep -c a nothing", "grep -c a sub", "grep -qc a evil",
		"stat -c %s evil", "stat -c %Y evil list", "stat -c %a evil", "stat -c %s nothing",
		"tr -cd 0-9 < evil", "tr -dc '[:digit:]' < evil",
		"printf %d x", `printf '%02d\n' "$(cat evil)"`, `printf %i "$(cat evil)"`, `printf '%5d-%-3d' 1 "$(cat evil)"`,
		"cd /", "true", "false || true", "[ -f evil ]", "echo 1 2", "echo -n 3", "echo $((1 + 1))", "wc -l < evil && nproc",
	} {
		clear := w.read("x=$(" + line + "); ((x))")
		if !clear.Static() {
			t.Errorf("%s is not read as a number: %q", line, clear.Unclear)
		}
		w.reset(t)
		w.bashRun(t, evil)
		cmd := exec.Command(w.bash, "-c", "cd "+w.dir+"; "+line)
		out, _ := cmd.Output() // it may fail
		if !numeric(string(out)) {
			t.Errorf("%s prints %q", line, out)
		}
		w.made = false
	}
	for _, line := range []string{
		"wc -l evil", "wc --files0-from=evil", "seq -f x 1", "seq -s x 2", "seq $x", "id -un", "id -u root -n", "expr a", "expr abc : '.*'", "expr $x + 1", "date", "date +%B", "date +%s%%",
		"date $x +%s", "date +$x", "grep -c a evil list", "grep -rc a", "grep -Hc a evil", "grep -c $x evil", "grep a evil", "grep -c a *", "stat -c %n evil", "stat -c %s $x", "stat evil", "stat -c %s evil -c %n",
		"tr -d 0-9", "tr -cd 0-9a", "seq 1 x", "expr 1 + a", "printf $x", "cat evil", "wc -l < evil 2>&1", "nproc 2>&1", "{ nproc; } 2>&1", "PATH=. nproc", "./nproc", "nproc() { cat evil; }; nproc",
		"alias nproc='cat evil'; nproc", "nproc; cat evil", "nproc && cat evil", "nproc || cat evil", "echo $x", "cd x", "cd -", "command nproc", "PATH=$PWD:$PATH; nproc",
	} {
		if r := w.read("x=$(" + line + "); ((x))"); r.Static() {
			t.Errorf("%s is read as a number", line)
		}
	}
}
