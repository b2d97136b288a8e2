package shellparse

import (
	"slices"
	"strings"
)

// codeRows are interpreters, editors and database clients. Interpreters get code in an option, in
// an operand, in a file or on standard input; editors and database clients have their own language.
const codeRows = `
find,gfind,bfs | =find | -* | --
fd,fdfind | safe =fd | - R* | -HIauFsilLp0q1g -t/--type: -e/--extension: -d/--max-depth: -E/--exclude: -c/--color: -S/--size: -j/--threads: --min-depth: --exact-depth: --changed-within: --changed-before: --hidden --no-ignore --unrestricted --absolute-path --glob --regex --fixed-strings --ignore-case --case-sensitive --follow --full-path --print0 --list-details --max-results: --base-directory:d --search-path:R --type: --owner: --and: --prune --no-ignore-vcs --ignore-file:r --one-file-system --strip-cwd-prefix? --show-errors --quiet --format:
python,python2,pypy,ipython,bpython,jython,micropython,pythonw | early =code | -* | -c:i$ -m:$ -W: -X: -Q: -BbdEhiIOPqsSuvVx --check-hash-based-pycs:
perl,raku | early =code | -* | -e:i -E:i -n -p -a -l?# -0?# -i?> -M: -m: -I:r -wWTtcvsSuUXf -x? -C? -d? -D? -F? -V? -h
ruby,jruby,truffleruby,irb | early =code | -* | -e:i -n -p -a -l -i?> -r: -I:r -C:d -X:d -F: -x? -w -W?# -v -c -s -S -T? -K? -E: -U -h -y -d -0?# --disable: --enable: --encoding: --jit --yjit
node,nodejs | early any =code | -* | -e/--eval:i -p/--print -c/--check -r/--require:x -i/--interactive -C/--conditions: --import:x --loader/--experimental-loader:x --input-type: --env-file:r --test --watch --inspect? --inspect-brk? --max-old-space-size: --experimental-strip-types --no-warnings --trace-warnings --enable-source-maps -v --run
deno | | @ | -q -L/--log-level:
deno eval | =deno | -* | -p/--print --ext: -A --allow-all -c/--config:x --import-map:x --preload/--import:x --require:x --no-check -T
deno run,deno test,deno bench,deno task,deno serve,deno repl,deno - | runs any =rundeno | -* | -A -c/--config:x --import-map:x --preload/--import:x --require:x --eval-file:x -q
deno check,deno info,deno lint,deno doc,deno types | any | r* | -c/--config:r
deno fmt | alters any | m* | -c/--config:r --check
deno install,deno add,deno cache,deno compile,deno upgrade | alters any | s* | -o/--output:w -A -g -n: -f
bun | any =bun | -* | -e/--eval:i -p/--print:i -r/--preload:x -i --cwd:d --watch --hot --bun -b
php | early =code | -* | -r/--run:i -B/--process-begin:i -R/--process-code:i -E/--process-end:i -f/--file:x -F/--process-file:x -d: -c/--php-ini:r -n -l -q -a -m -i -s -S: -t:d -z:x -w -v -h --ini --rf: --rc: --re: -H
lua,luajit,texlua,luau | early =code | -* | -e:i -l: -i -v -W -E -j: -O? -b -
tclsh,wish,jimsh,itclsh | early =code | -* | --
expect,expectk | early =code | -* | -c:i -f:x$ -b:x$ -d -D: -i -n -N -v
osascript | early =code | -* | -e:i -l: -s: -i
R,Rterm | any =code | -* | -e:i -f:x --file:x -g: -d: --slave --no-save --no-restore --vanilla -q --quiet -s
Rscript,littler | early any =code | -* | -e:i --vanilla --verbose --default-packages:
julia | early any =code | -* | -e/--eval:i -E/--print:i -L/--load:x -t/--threads: -p/--procs: -i -q -v -J/--sysimage:x -O? -g? --project? --startup-file: --color:
emacs,emacsclient | once any =emacs | m* | -eval/-execute/-e:i -l/-load:x -script:x -x:x -f/-funcall: -batch -Q -quick -q -nw -n -t -c -a: -no-window-system -L:r -directory:r -chdir:d -insert:r -u: -no-init-file -no-site-file
guile | early =code | -* | -c:i$ -s:x$ -l:x -L:r -e: -q --no-auto-compile --debug --listen?
sbcl,clisp,ecl,racket,mzscheme,chez,scheme,csi,gsi,bb,clojure,clj,fennel,hy,newlisp,janet,nbb,planck,joker | any =code | -* | -e/--eval/-x/-eval:i --load/-l:x --script:x -q --noinform --non-interactive --quit --no-userinit --disable-debugger
ghc,runghc,runhaskell,ghci | any =code | x | -e:i -o:w
groovy,scala,kotlin,kscript,jshell,scala-cli,amm | any =code | -* | -e:i -c:i --execution-code:i
elixir,iex | early any =code | -* | -e/--eval:i -r:x -S:x --no-halt
erl | once any =code | -* | -eval:i -noshell -s: -run: -pa:r
crystal,nim,ocaml,swift,zx,tsx,ts-node,coffee,dart,v,d8,qjs,quickjs,jsc,csharp,fsi,dotnet-script,utop,escript,swipl,gprolog,lean,gst,gforth,kotlinc | any =code | -* | -e/--eval/-eval:i -p -r:x -c
gnuplot,octave,octave-cli,matlab,maxima,gap,sage,gp,scilab,ngspice,m4 | any =code | -* | -e/--eval/-batch/--execute:i -c:i -r:i -p -q --no-gui
awk,gawk,mawk,nawk,goawk,original-awk | early =awk | -* | -F/--field-separator: -v/--assign: -f/--file:x -i/--include:x -l/--load:x -e/--source:i -E/--exec:x$ -b -c -C -h -I? -k -M -n -N -O -o? -p? -P -r -s -S -t -V -W: -D? --re-interval --posix --traditional --sandbox --csv --lint? --bignum --optimize --characters-as-bytes --profile?w --pretty-print?w --dump-variables?w --debug?
sed,ssed | =sed | -* | -n/--quiet/--silent -e/--expression:i -f/--file:x -E/-r/--regexp-extended -i/--in-place?> -s/--separate -u/--unbuffered -z/--null-data -l/--line-length: -b/--binary --posix --debug --sandbox --follow-symlinks -a -I:>
sd | | - - m* | -p/--preview -F/--fixed-strings -s/--string-mode -n/--max-replacements: -f/--flags:
vim,vi,nvim,gvim,mvim,vimdiff,gvimdiff,view,ex,rvim,rview,vim.tiny,vim.basic,nvi,elvis,vis,kak,hx,helix | =vim | m* | -ABCDEFHLMNRXYZbdefghlmny -s -v -x -o? -O? -p? -V? -c:i --cmd:i -S:x -u:x -U:x -i:m -r? -t: -T: -w:w -W:w -q:r -P: -# --clean --noplugin --headless --not-a-term --startuptime:w --embed --literal --nofork --servername: --remote --remote-send:u --remote-expr:u -l:x
ed,red | =ed | m* | -p: -s -v -G -r -E -l --quiet --silent --restricted
nano,pico,micro,joe,jed,mcedit,ne,mg | | m* | -ABDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnpqtuvwxyz -r: -s:l -o:w -#
gdb,cgdb,lldb | once any =gdb | -* | -ex/-eval-command/-iex/-o/-one-line/-O/-k:i -x/-command/-s/-source/-ix/-S:x -args/-- -batch/-b -p/-pid: -q/-quiet -n/-nx -nh -cd:d -se: -e/-exec: -c/-core:r -d/-directory:r -w -f/-file:r
sqlite3,duckdb | once =sql | m -* | -cmd/-c:i -s:i -init/-f:x -batch -csv -header -headers -json -line -list -html -markdown -box -table -column -quote -tabs -readonly -noheader -bail -echo -separator: -nullvalue: -newline: -mmap: -interactive -ascii -safe -safemode -stats -unsigned -vfs: -zip -A -deserialize -maxsize: -lookaside: -pagecache: -nofollow -append -version~ -help~
psql,pgcli | =sql | -* | -c/--command:i -f/--file:x -d/--dbname: -h/--host: -p/--port: -U/--username: -L/--log-file:w -o/--output:w -v/--set/--variable: -F/--field-separator: -P/--pset: -R/--record-separator: -T: -aAbeEHlnqsStwWxXz01 --csv --list --no-psqlrc --tuples-only --no-align --quiet --echo-all --echo-errors --echo-queries --single-transaction --no-password --password --expanded --html
mysql,mariadb,mycli | =sql | -* | -e/--execute:i --init-command:i -u/--user: -p? -h/--host: -P/--port: -D/--database: -S/--socket: -AbBCEfGHijLNnoqrsTtUvwX --password? --protocol: --defaults-file:r --defaults-extra-file:r --tee:w --pager:l --skip-column-names --batch --raw --table --vertical --silent --verbose --ssl-mode: --default-character-set: --compress --force --no-defaults --delimiter: --local-infile?
mongosh,mongo | any =code | -* | --eval:i -f/--file:x --quiet --norc -u: -p: --host: --port: --nodb
redis-cli,clickhouse-client,cqlsh,sqlcmd,bq,snowsql,influx | alters any | -* | -h: -p: -a: -n: -u: --eval:x -f:x -i:x -o:w -q: -e:
createdb,dropdb,createuser,dropuser,pg_restore,mysqladmin,mysqlimport,mongorestore,mongoimport | alters any | s* | -h: -p: -U: -d: -f: -c -C -e
pg_dump,pg_dumpall,mysqldump,mongodump,mongoexport | any | -* | -f/--file/--result-file/-o/--out:w -h/--host: -p/--port: -U/--username/-u/--user: -r:w -d/--dbname: -F/--format: -t/--table: -n/--schema: -s -a -O -x -c -C -v -w -W
pg_isready | safe any | -* | -h: -p: -U: -d: -t:
`

// languages are the languages of interpreters, by the names of their rows.
var languages = map[string]*language{
	"python": langPython, "python2": langPython, "pypy": langPython, "ipython": langPython, "bpython": langPython, "jython": langPython,
	"micropython": langPython, "pythonw": langPython, "sage": langPython, "xonsh": langPython,
	"perl": langPerl, "raku": langPerl, "ruby": langRuby, "jruby": langRuby, "irb": langRuby, "truffleruby": langRuby, "crystal": langRuby,
	"node": langNode, "nodejs": langNode, "deno eval": langNode, "bun": langNode, "zx": langNode, "tsx": langNode, "ts-node": langNode,
	"coffee": langNode, "mongosh": langMongo, "mongo": langMongo, "d8": langNode, "qjs": langNode, "quickjs": langNode, "jsc": langNode,
	"php": langPHP, "lua": langLua, "luajit": langLua, "texlua": langLua, "luau": langLua, "R": langR, "Rscript": langR, "littler": langR,
	"julia": langJulia, "emacs": langLisp, "emacsclient": langLisp, "guile": langLisp, "sbcl": langLisp, "clisp": langLisp, "ecl": langLisp, "racket": langLisp,
	"mzscheme": langLisp, "chez": langLisp, "scheme": langLisp, "csi": langLisp, "gsi": langLisp, "bb": langLisp, "clojure": langLisp,
	"clj": langLisp, "fennel": langLisp, "hy": langLisp, "janet": langLisp, "nbb": langLisp, "planck": langLisp, "joker": langLisp, "newlisp": langLisp, "osascript": langAppleScript,
	"ghc": langHaskell, "runghc": langHaskell, "ghci": langHaskell, "runhaskell": langHaskell, "groovy": langJava, "scala": langJava, "kotlin": langJava, "kscript": langJava,
	"jshell": langJava, "scala-cli": langJava, "amm": langJava, "elixir": langElixir, "iex": langElixir, "erl": langElixir,
}

// language returns the language of the row. If the language is unknown, each of the usual names
// starts programs.
func (c *call) language() *language {
	if l := languages[c.prog.name]; l != nil {
		return l
	}
	return langUnknown
}

var langUnknown = &language{
	name: "inline", quotes: `"'`, ticks: "run", comment: "\x00", expands: "$",
	calls: langPerl.calls + " " + langR.calls + " " + langJava.calls + " popen spawn unix command syscmd esyscmd shell_cmd dos execShellCmd execCmd Process shell",
	evals: "eval evalc feval run load source",
}

// interpret passes code to the parser of its language.
func (c *call) interpret(w word) {
	switch c.prog.name {
	case "tclsh", "wish", "jimsh", "itclsh", "expect", "expectk":
		c.tclCode(w)
	default:
		c.code(w, c.language())
	}
}

// runCode handles an interpreter. Its code is in an option, in a file, or on standard input.
func (c *call) runCode() {
	c.handled = true
	code := c.optionCode()
	if c.prog.name == "bun" && len(code) == 0 {
		c.bun()
		return
	}
	if (c.prog.name == "node" || c.prog.name == "nodejs") && c.has("-p") && len(code) == 0 && len(c.remaining) > 0 {
		code, c.remaining = c.remaining[:1], c.remaining[1:]
	}
	if c.unknown != "" && !c.prog.marks.any {
		c.out.unclear = "unknown flag " + c.unknown + " of " + c.inv.name + ": cannot determine what it runs"
	}
	for _, m := range []string{"-M", "-m"} {
		if w, ok := c.value(m); ok && c.language() == langPerl && strings.ContainsAny(w.text, ";(){}\"'` $") {
			c.out.unclear = "perl " + m + " holds code"
		}
	}
	if c.unclear && c.vagueOption() {
		c.out.unclear = "cannot determine what " + c.inv.name + " runs"
	}
	module, isModule := c.value("-m")
	switch {
	case len(code) > 0:
		whole := joinedBy(code, "\n")
		c.interpret(whole)
	case c.only:
	case isModule && c.language() == langPython:
		c.module(module)
		return
	case len(c.remaining) > 0 && !namesStdin(c.remaining[0]):
		if !c.remaining[0].static {
			c.out.unclear = "cannot determine the file of code that " + c.inv.name + " runs"
		}
		c.applyRole(c.remaining[0], c.remaining[0].text, roleCode)
		if l := c.language(); (l == langUnknown || l == langR || c.prog.name == "tsx") && contains("run r watch CMD", c.remaining[0].text) {
			for _, w := range c.remaining[1:] {
				c.mayBeCode(w)
			}
		}
		c.remaining = c.remaining[1:]
	case c.out.opaque != "": // a file of code in an option
	case c.asksVersion():
		c.out.safe = c.unknown == ""
		return
	default:
		c.stdinCode()
	}
	for _, w := range c.remaining {
		if c.writes || c.has("-n") || c.has("-p") {
			c.applyRole(w, w.text, c.effectiveRole(roleRead))
		} else {
			c.addPathLike(w, true)
		}
	}
	c.opaque("runs code that the command line does not show")
}

// asksVersion reports whether the only argument is a short spelling of --version.
func (c *call) asksVersion() bool {
	return len(c.args) == 1 && (c.args[0].text == "-V" || c.args[0].text == "-v")
}

// optionCode handles the options that contain code. All other options keep their usual meaning.
func (c *call) optionCode() []word {
	var code []word
	for i := range c.given {
		if g := &c.given[i]; g.role == roleSelf {
			c.mayBeCode(g.value) // gnuplot -c
			code = append(code, g.value)
		} else if g.has {
			c.applyRole(g.value, g.arg, g.role)
		}
	}
	return code
}

// vagueOption reports whether a word before the operands is unknown.
func (c *call) vagueOption() bool {
	n := len(c.args) - len(c.remaining)
	return slices.ContainsFunc(c.args[:n], func(w word) bool { return mayBeOption(w) || maySplit(w) }) ||
		len(c.remaining) > 0 && mayBeOption(c.remaining[0])
}

// stdinCode handles code on standard input.
func (c *call) stdinCode() {
	switch c.inv.in.kind {
	case stdinKnown:
		c.interpret(word{text: c.inv.in.text, static: true})
	case stdinUnknown:
		c.out.unclear = "cannot determine the code that " + c.inv.name + " reads from standard input"
		c.opaque("runs code from standard input")
	default:
		c.opaque("runs what is typed at the terminal")
	}
}

// module handles python -m.
func (c *call) module(m word) {
	c.handled = true
	if !m.static {
		c.out.unclear = "cannot determine the module that python runs"
		return
	}
	rest := c.remaining
	switch m.text {
	case "timeit":
		for _, w := range rest {
			if w.text != "" && w.text[0] != '-' {
				c.code(w, langPython)
			}
		}
	case "pdb", "cProfile", "profile", "trace", "runpy", "coverage", "memory_profiler", "line_profiler":
		for i, w := range rest {
			if w.text == "-c" && m.text == "pdb" || strings.HasPrefix(w.text, "-c") && i == 0 && m.text == "pdb" {
				c.out.unclear = "commands of pdb are not parsed"
			}
			if strings.HasSuffix(w.text, ".py") {
				c.applyRole(w, w.text, roleCode)
			}
		}
	case "venv", "virtualenv", "zipfile", "tarfile", "compileall", "build", "pip":
		c.outputs()
		for _, w := range rest {
			if m.text != "pip" && looksLikePath(w.text) {
				c.addPath(w, w.text, Write, FromSyntax, true)
			}
		}
	case "json.tool":
		for i, w := range rest {
			if w.text != "" && w.text[0] != '-' {
				access := Read
				if i > 0 && rest[i-1].static && rest[i-1].text[:min(1, len(rest[i-1].text))] != "-" {
					access = Write
				}
				c.addPath(w, w.text, access, FromArgument, false)
			}
		}
		c.out.safe = !c.out.changesFiles()
		return
	}
	for _, w := range rest {
		c.mayBeCode(w)
		c.addPathLike(w, true)
	}
	c.opaque("runs the module " + m.text)
}

func joinedBy(words []word, sep string) word {
	out := word{static: true}
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
		out.static = out.static && w.static
	}
	out.text = strings.Join(texts, sep)
	return out
}

// bun runs files, scripts of a project and code.
func (c *call) bun() {
	if len(c.remaining) == 0 {
		c.stdinCode()
		return
	}
	rest := c.remaining[1:]
	switch sub := c.remaining[0].text; sub {
	case "x":
		c.out.runs = append(c.out.runs, run{via: "bun x", argv: rest})
		if len(rest) == 0 {
			c.out.runs = nil
		}
		c.opaque("downloads and runs a package")
	case "exec":
		if len(rest) > 0 {
			c.runLine(rest[0], "bun exec", c.inv.in)
		}
	case "run", "test", "install", "i", "add", "remove", "rm", "update", "build", "init", "create", "link", "pm", "publish", "upgrade", "dev", "start":
		for _, w := range rest {
			c.mayBeCode(w)
			c.addPathLike(w, false)
		}
		c.opaque("runs or changes something that the command line does not show")
	default:
		c.applyRole(c.remaining[0], sub, roleCode)
	}
}
