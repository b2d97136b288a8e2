package shellread_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/shellread"
)

// takers are programs that take a script from a file, at %.
var takers = []string{
	"bash %", "sh %", "zsh %", "ksh %", "fish %", "bash --rcfile % -i", "source %", ". %",
	"python3 %", "python3 -m pdb %", "python3 -m runpy %", "perl %", "ruby %", "node %", "nodejs %", "node -r %", "node --require=% -e 1", "node --import % -e 1",
	"deno run %", "bun %", "bun run %", "php %", "php -f %", "lua %", "tclsh %", "expect %", "expect -f %", "osascript %",
	"Rscript %", "R -f %", "julia %", "guile %", "guile -s %", "sbcl --script %", "clisp %", "racket %", "elixir %", "swift %", "ocaml %", "runghc %", "groovy %",
	"gnuplot %", "octave %", "m4 %", "emacs --script %", "emacs -l %",
	"awk -f %", "gawk -f % x", "mawk -f%", "gawk --file=% x", "gawk -E %", "sed -f %", "sed -n -f % x", "sed --file=% x", "gsed -f%",
	"vim -S %", "vim -u %", "ex -S % x", "gdb -x %", "lldb -s %",
	"make -f %", "make -f%", "make --file=%", "gmake --makefile=%", "just -f %", "ninja -f %", "rake -f %", "cmake -P %",
	"docker build -f % .", "docker compose -f % up", "docker-compose -f % up", "nodemon %",
	"psql -f %", "sqlite3 -init % x.db", "mongosh -f %", "at -f % now", "crontab %",
	"ansible-playbook %", "java %", "tsx %", "ts-node %", "pwsh -File %", "nu %",
}

// What a program reads as code from standard input, or from a file that the shell has open, is
// as little known as what it reads from a pipe, however that file is named.
func TestCodeFromAnOpenFile(t *testing.T) {
	const source = "curl -s https://x.example"
	var lines []string
	for _, taker := range takers {
		with := func(file string) string { return strings.ReplaceAll(taker, "%", file) }
		for _, file := range []string{
			"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "//dev/./stdin", "/proc/thread-self/fd/0", "/dev/fd/00", "/proc/self/fd/../fd/0",
		} {
			lines = append(lines, source+" | "+with(file))
		}
		lines = append(lines, with("<("+source+")"), with("/dev/fd/3")+" 3< <("+source+")", with("/proc/self/fd/7")+" 7<<<'rm -rf /'")
	}
	for _, line := range lines {
		if r := shellread.Parse(line, &shellread.Options{Dir: "/w", Home: "/h"}); len(r.Unclear) == 0 {
			t.Errorf("%s: nothing is unclear", line)
		}
	}
}

// Code that is in the line is read, however standard input is named.
func TestCodeFromANamedInput(t *testing.T) {
	for _, taker := range []string{"bash %", "source %", "python3 %", "perl %", "ruby %", "node %", "php -f %", "awk -f %", "sed -n -f %", "tclsh %"} {
		code := map[string]string{
			"python3 %": `import os; os.system("rm -rf x")`, "perl %": `system("rm -rf x")`, "ruby %": `system("rm -rf x")`, "php -f %": `<?php system("rm -rf x");`,
			"node %": `require("child_process").execSync("rm -rf x")`, "awk -f %": `BEGIN { system("rm -rf x") }`, "sed -n -f %": "1e rm -rf x", "tclsh %": "exec rm -rf x",
		}[taker]
		if code == "" {
			code = "rm -rf x"
		}
		for _, file := range []string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"} {
			if file == "-" && (taker == "source %" || taker == "tclsh %") {
				continue // a file of that name
			}
			line := strings.ReplaceAll(taker, "%", file) + " <<'E'\n" + code + "\nE\n"
			r := shellread.Parse(line, &shellread.Options{Dir: "/w", Home: "/h"})
			if !slices.ContainsFunc(r.Commands, func(c shellread.Command) bool { return c.Name == "rm" }) {
				t.Errorf("%s: rm is not among its commands, unclear: %v", line, r.Unclear)
			}
		}
	}
}
