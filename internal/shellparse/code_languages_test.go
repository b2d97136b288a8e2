package shellparse

import (
	"slices"
	"strings"
	"testing"
)

func TestContains(t *testing.T) {
	for _, tt := range []struct {
		list, word string
		want       bool
	}{
		{"", "", false},
		{"a b", "", false},
		{"subprocess", "s", false},
		{"process s", "s", true},
		{"ab b", "b", true},
		{"ab b", "a", false},
		{"a\n\tb", "b", true},
		{"execve exec", "exec", true},
	} {
		if got := contains(tt.list, tt.word); got != tt.want {
			t.Errorf("in(%q, %q) is %v", tt.list, tt.word, got)
		}
	}
}

// started are the lines that code starts, behind "?" when that cannot be known.
func started(program, code string) string {
	c := call{inv: &invocation{name: program}, prog: lookup(program)}
	c.interpret(word{text: code, static: true})
	var out []string
	for _, r := range c.out.runs {
		out = append(out, r.line)
	}
	if c.out.unclear != "" {
		out = append(out, "?")
	}
	return strings.Join(out, "|")
}

func TestCodeStarts(t *testing.T) {
	for _, tt := range []struct{ program, code, want string }{
		{"python", `print("rm")`, ""},
		{"python", `print("os.system('rm')")`, ""},
		{"python", `import os; print("rm", os.getcwd())`, ""},
		{"python", `import os; os.system("a b"); print("rm")`, "a b"},
		{"python", `import os # os.system("rm")`, ""},
		{"python", `import os; os.system("""a""")`, "a"},
		{"python", `import os; os.system(r"a")`, "a"},
		{"python", `import os; os.system("\x72m")`, "rm"},
		{"python", `import os; os.system("\162m")`, "rm"},
		{"python", `import os; os.system("\u0072m")`, "rm"},
		{"python", `from subprocess import run; run(["a", "b c"])`, "a 'b c'"},
		{"python", `import subprocess; subprocess.run(("a", "b"), cwd="/x")`, "a b"},
		{"python", `import subprocess; subprocess.Popen("a", shell=True)`, "a"},
		{"python", `import subprocess`, "?"},
		{"python", `import os; os.system("a" % x)`, "a|?"},
		{"python", `import os; os.system("a".format(x))`, "a|?"},
		{"python", `import os; os.system("a" + x)`, "a|?"},
		{"python", `import os; os.system(x)`, "?"},
		{"python", `import os; os.system(f"a{x}")`, "a{x}|?"},
		{"python", `import os; f = os.system; f("a")`, "a|?"},
		{"python", `eval("1")`, "1|?"},
		{"python", `import re; re.compile("rm").search("x")`, ""},
		{"perl", `print "rm"`, ""},
		{"perl", `system "a"`, "a"},
		{"perl", `system("a", "b")`, "a b"},
		{"perl", `system("a $x")`, "a $x|?"},
		{"perl", "`a`", "a"},
		{"perl", "print `a $x`", "a $x|?"},
		{"perl", `qx(a (b) c)`, "a (b) c"},
		{"perl", `qx/a/`, "a"},
		{"perl", `exec q{a b}`, "a b"},
		{"perl", `open(F, "a|")`, "a"},
		{"perl", `open(F, "|a b")`, "a b"},
		{"perl", `s/(\d+)/$1+1/e`, ""},
		{"perl", `# system("a")`, ""},
		{"ruby", `puts "rm"`, ""},
		{"ruby", `system "a"`, "a"},
		{"ruby", `system("a #{x}")`, "a #{x}|?"},
		{"ruby", "`a`", "a"},
		{"ruby", `%x{a b}`, "a b"},
		{"ruby", `Open3.capture2e("a", "b")`, "a b"},
		{"ruby", `send(:system, "a")`, "a|?"},
		{"node", `console.log("rm")`, ""},
		{"node", `/x/.exec("rm")`, ""},
		{"node", `require("child_process").execSync("a")`, "a"},
		{"node", `require("node:child_process").spawn("a", ["b", "c"])`, "a b c"},
		{"node", "require('child_process').exec(`a`)", "a"},
		{"node", "require('child_process').exec(`a ${x}`)", "child_process|a ${x}|?"},
		{"node", `require("child_process")`, "child_process|?"},
		{"node", `require(x)("a")`, "a|?"},
		{"node", `import("x" + y)`, "x|?"},
		{"node", `// eval(1)`, ""},
		{"php", `echo "rm";`, ""},
		{"php", `system("a");`, "a"},
		{"php", "echo `a`;", "a"},
		{"php", `$f("a");`, "a|?"},
		{"lua", `print("rm")`, ""},
		{"lua", `os.execute("a")`, "a"},
		{"lua", `os["execute"]("a")`, "execute|a|?"},
		{"lua", `-- os.execute("a")`, ""},
		{"R", `system("a")`, "a"},
		{"R", `print("rm")`, ""},
		{"julia", "run(`a b`)", "a b"},
		{"julia", "run(`a $x`)", "a $x|?"},
		{"julia", `rm("x")`, ""},
		{"emacs", `(message "rm")`, ""},
		{"emacs", `(shell-command "a")`, "a"},
		{"emacs", `(start-process "n" nil "a" "b")`, "n|a|b"},
		{"emacs", `(delete-file "x")`, ""},
		{"tclsh", `puts rm`, ""},
		{"tclsh", `exec a b`, "a b"},
		{"tclsh", `puts [exec a b]`, "a b"},
		{"tclsh", `exec a $x`, "a $x|?"},
		{"tclsh", `open "|a b"`, "a b"},
		{"expect", `spawn a; expect eof`, "a"},
		{"osascript", `do shell script "a"`, "a"},
		{"groovy", `"a b".execute()`, "a b|?"},
		{"gnuplot", `system "a"`, "a"},
	} {
		if got := started(tt.program, tt.code); got != tt.want {
			t.Errorf("%s %s\n\tstarts %q, want %q", tt.program, tt.code, got, tt.want)
		}
	}
}

func TestAwk(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{`{print $1}`, ""},
		{`/rm/ {n++} END {print n}`, ""},
		{`/"/ {print "x"}`, ""},
		{`{print a/b/c "|" d}`, ""},
		{`$1 > 5 || x {print}`, ""},
		{`BEGIN{system("a b")}`, "a b"},
		{`BEGIN{system("a" x)}`, "a|?"},
		{`{print | "a"}`, "a"},
		{`{print $1, $2 | "a -n"}`, "a -n"},
		{`{print | "a" x}`, "a|?"},
		{`BEGIN{"a" | getline x}`, "a"},
		{`BEGIN{while (("a" | getline x) > 0) n++}`, "a"},
		{`BEGIN{x "a" | getline}`, "a|?"},
		{`BEGIN{c | getline}`, "?"},
		{`# system("a")`, ""},
		{`BEGIN{@f()}`, "?"},
	} {
		c := call{inv: &invocation{name: "awk"}, prog: lookup("awk")}
		c.awkCode(word{text: tt.code, static: true})
		var out []string
		for _, r := range c.out.runs {
			out = append(out, r.line)
		}
		if c.out.unclear != "" {
			out = append(out, "?")
		}
		if got := strings.Join(slices.Compact(out), "|"); got != tt.want {
			t.Errorf("%s\n\tstarts %q, want %q", tt.code, got, tt.want)
		}
	}
}

func TestSed(t *testing.T) {
	for _, tt := range []struct {
		code     string
		want     string
		harmless bool
	}{
		{`s/a/b/`, "", true},
		{`s/e/w/gI;p`, "", true},
		{`s,a/b,c,3`, "", true},
		{`/x/,/y/{s/a/b/;d}`, "", true},
		{`1~2!p`, "", true},
		{`\,x,d`, "", true},
		{`$!N;P;D`, "", true},
		{`:a;N;$!ba;s/\n/ /g`, "", true},
		{"a\\\ne rm\n", "", true},
		{`a e rm`, "", true},
		{`s/[/]/x/e`, "x|?", false},
		{`y/abc/def/`, "", true},
		{`/^#/d;/^$/d`, "", true},
		{`e a b`, "a b", false},
		{`1,5e a`, "a", false},
		{`/x/e`, "?", false},
		{`s/a/b/e`, "b|?", false},
		{`s/a/b/ge`, "b|?", false},
		{`s/a/b/;e a`, "a", false},
		{`w out`, "", false},
		{`s/a/b/w out`, "", false},
		{`s/a`, "?", false},
		{`k`, "?", false},
		{`}`, "", true},
	} {
		c := call{inv: &invocation{name: "sed"}, prog: lookup("sed")}
		harmless := c.sedCode(word{text: tt.code, static: true})
		var out []string
		for _, r := range c.out.runs {
			out = append(out, r.line)
		}
		if c.out.unclear != "" {
			out = append(out, "?")
		}
		if got := strings.Join(out, "|"); got != tt.want || harmless != tt.harmless {
			t.Errorf("%s\n\tstarts %q, want %q; harmless: %v", tt.code, got, tt.want, harmless)
		}
	}
}
