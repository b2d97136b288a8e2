package shellparse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// readings are lines with the lines of the commands that they run, in order, and
// whether that is all. A program's tables add nothing to the commands used here.
var readings = []struct {
	line    string
	want    string // canonical lines, separated by " ; "
	unclear bool
}{
	// What cannot be known.
	{`$x y`, `$x y`, true},
	{`r${u}m x`, `r${u}m x`, true},
	{`${x:-rm} x`, `${x:-rm} x`, true},
	{`/bin/r? x`, `/bin/r? x`, true},
	{`/bin/[r]m x`, `/bin/[r]m x`, true},
	{`rm$IFS-rf`, `rm$IFS-rf`, true},
	{`x=(a b); "${x[@]}"`, `"${x[@]}"`, true},
	{`v=c; c=a; ${!v} x`, `${!v} x`, true},
	{`"$(cmd)" x`, `"$(cmd)" x ; cmd`, true},
	{`"" x`, `'' x`, true},
	{`/bin/ x`, `/bin/ x`, true},
	{`a "`, ``, true},
	{`if a`, ``, true},
	{`a )`, ``, true},
	{"a\x00b", ``, true},
	{"a\r\nb", `a ; b`, true},
	{`readonly X=a; X=b; $X`, `readonly X=a ; $X`, true},
	{`declare -l X; X=B; $X`, `declare -l X ; $X`, true},
	{`declare -n r=X`, `declare -n r=X`, true},
	{`f() { local X=b; }; X=a; f; $X`, `local X=b ; $X`, true},
	{`if t; then X=a; else X=b; fi; $X`, `t ; $X`, true},
	{`X=a; t && X=b; $X`, `t ; $X`, true},
	{`X=a; while t; do $X; X=b; done`, `t ; $X`, true},
	{`X=a; while t; do X=b; break; X=a; done; $X`, `t ; break ; $X`, true},
	{`X=a; for i in 1 2; do for j in 1 2; do X=b; break 2; done; X=a; done; $X`, `break 2 ; $X`, true},
	{`X=a; f() { X=b; return; X=a; }; f; $X`, `return ; b`, false},
	{`f() { f; }; f`, ``, true},
	{`:() { :|:& };:`, ``, true},
	{`IFS=x; A="bxc"; $A`, `$A`, true},
	{`RANDOM=a; $RANDOM`, `$RANDOM`, true},
	{`x='a[$(b)]'; ((x))`, ``, true},
	{`x='a[$(b)]'; [[ $x -eq 1 ]]`, ``, true},
	{`let 'x=a[$(b)]'`, ``, true},
	{`echo "${x@P}"`, `echo "${x@P}"`, true},
	{`PS4='$(b)' a`, `a`, true},
	{`BASH_ENV=<(b) a`, `a ; b`, true},
	{`GIT_CONFIG_COUNT=1 a`, `a`, true},
	{`GIT_SSH_COMMAND="$x" a`, `a`, true},
	{`enable -n cd`, `enable -n cd`, true},
	{`printf -v 'a[$(b)]' c`, `printf -v 'a[$(b)]' c`, true},
	{`alias a=$x; a`, `alias a=$x ; a`, true},
	{`echo @($(b)|c)`, `echo @($(b)|c)`, true},

	// Lists and compounds.
	{``, ``, false},
	{`   `, ``, false},
	{`# $(b)`, ``, false},
	{`a # $(b)`, `a`, false},
	{`a;b&&c||d|e&f`, `a ; b ; c ; d ; e ; f`, false},
	{"a\nb", `a ; b`, false},
	{`a |& b`, `a ; b`, false},
	{`(a) ; { b; }`, `a ; b`, false},
	{`! a`, `a`, false},
	{`time -p a`, `a`, false},
	{`coproc a`, `a`, false},
	{`coproc N { a; }`, `a`, false},
	{`if a; then b; elif c; then d; else e; fi`, `a ; b ; c ; d ; e`, false},
	{`while a; do b; done; until c; do d; done`, `a ; b ; c ; d`, false},
	{`for f in a b; do r $f; done`, `r a ; r b`, false},
	{`for f in a b; do r x; done`, `r x`, false},
	{`for f in {1..3}; do r $f; done`, `r 1 ; r 2 ; r 3`, false},
	{`for f in *.go; do r $f "$f"; done`, `r *.go *.go`, false},
	{`for f in $(a); do r $f; done`, `a ; r $f`, false},
	{`for f in {1..100}; do r $f; done`, `r $f`, false},
	{`for f; do r $f; done`, `r $f`, false},
	{`for ((i=$(a); i<$(b); i++)); do c; done`, `a ; b ; c`, true},
	{`select f in a; do r $f; done`, `r $f`, false},
	{`case $(a) in b) c;; $(d)) e;& *) g;; esac`, `a ; c ; d ; e ; g`, false},
	{`f() { a; }`, `a`, false},
	{`function f { a; }; f`, `a`, false},
	{`f() { r "$1" $2; }; f x "y z"`, `r x y z`, false},
	{`f() { r "$@"; }; f x "y z"`, `r x 'y z'`, false},
	{`f() { g; }; g() { r; }; f`, `r`, false},
	{`if t; then f() { r; }; fi; f`, `t ; f ; r`, false},
	{`f() { $1 x; }; f a`, `a x`, false},
	{`[[ -f x && $(a) == b ]]`, `a ; :`, false},
	{`(( x = $(a) ))`, `a`, true},
	{`let "x=$(a)"`, `a`, true},
	{`x=(1 $(a)); y[$(b)]=1`, `a ; b`, true},
	{`declare -A m=([k]=$(a))`, `declare -A m=([k]=$(a)) ; a`, false},
	{`export X=1 Y`, `export X=1 Y`, false},

	// Substitutions.
	{`a $(b $(c))`, "a $(b $(c)) ; b $(c) ; c", false},
	{"a `b`", "a `b` ; b", false},
	{"a \"${y:-`b;c`}\"", "a \"${y:-`b;c`}\" ; b ; c", false},
	{`a $((1+$(b)))`, `a $((1+$(b))) ; b`, true},
	{`a <(b) >(c)`, `a <(b) >(c) ; b ; c`, false},
	{`X=$(a) b`, `b ; a`, false},
	{`X=$(a)`, `a`, false},
	{`a > $(b)`, `a ; b`, false},
	{`> $(b)`, `: ; b`, false},
	{"a <<E\n$(b)\nE", `a ; b`, false},
	{"a <<'E'\n$(b)\nE", `a`, false},
	{`a <<< $(b)`, `a ; b`, false},
	{`a ${x[$(b)]} ${x:$(c)} ${x/y/$(d)}`, `a ${x[$(b)]} ${x:$(c)} ${x/y/$(d)} ; b ; c ; d`, true},
	{`$(echo a) x`, `a x ; echo a`, false},
	{`a '$(b)' \$\(b\) "\$(b)"`, `a '$(b)' '$(b)' '$(b)'`, false},
	{`a \$(b\)`, `a '$(b)'`, false},

	// Words.
	{`r""m 'x' "y"`, `rm x y`, false},
	{`\r\m`, `rm`, false},
	{`$'\x72m' $'\155'`, `rm m`, false},
	{`$"rm" x`, `rm x`, false},
	{"r\\\nm x", `rm x`, false},
	{`{rm,x}`, `rm x`, false},
	{`X=rm; $X x; ${X} y`, `rm x ; rm y`, false},
	{`X="rm -f x"; $X`, `rm -f x`, false},
	{`X=; $X rm`, `rm`, false},
	{`X=; $X`, ``, false},
	{`a ~/x $HOME/y ~u/z $PWD`, `a /home/u/x /home/u/y ~u/z /w`, false},
	{`~/bin/a`, `/home/u/bin/a`, false},
	{`a $V "$V"`, `a v w 'v w'`, false},
	{`(X=rm); $V`, `v w`, false},
	{`set -- a b; "$@"`, `set -- a b ; a b`, false},
	{`A=1 B=2 a`, `a`, false},
	{`>x a y`, `a y`, false},
	{`export X=a; X+=b; c $X`, `export X=a ; c ab`, false},
	{`X=b eval '$X c'`, `eval '$X c' ; b c`, false},
	{`X=b; eval "$X c"; $X`, `eval 'b c' ; b c ; b`, false},
	{`export X=b; sh -c '$X c'`, `export X=b ; sh -c '$X c' ; b c`, false},
	{`X=b sh -c '$X c'`, `sh -c '$X c' ; b c`, false},
	{`sh -c '"$1" c' _ b`, `sh -c '"$1" c' _ b ; b c`, false},
	{`echo 'b c' | sh`, `echo 'b c' ; sh ; b c`, false},
	{`{ echo b; echo c; } | sh`, `echo b ; echo c ; sh ; b ; c`, false},
	{`sh <<< 'b c'`, `sh ; b c`, false},
	{"sh <<E\nb\nE", `sh ; b`, false},
	{"sh <<-'E'\n\tb $x\n\tE", `sh ; b $x`, false},
	{"alias a='b c'\na d", `alias 'a=b c' ; b c ; a d ; b c d`, false},
	{`GIT_PAGER='b c' a`, `a ; b c`, false},
}

func TestReadings(t *testing.T) {
	o := &Options{Dir: "/w", Home: "/home/u", Vars: map[string]string{"V": "v w"}}
	for _, tt := range readings {
		r := Parse(tt.line, o)
		var lines []string
		for _, c := range r.Commands {
			lines = append(lines, c.Line)
		}
		if got := strings.Join(lines, " ; "); got != tt.want || r.Static() == tt.unclear {
			t.Errorf("%q\n got %s %q\nwant %s, unclear %v", tt.line, got, r.Unclear, tt.want, tt.unclear)
		}
	}
}

// What reads standard input that cannot be known is unclear where it is code.
func TestUnknownInput(t *testing.T) {
	for _, line := range []string{
		`a | sh`, `cat x | sh`, `sh < x`, `sh < <(a)`, `exec < x; sh`, `{ sh; } < x`, `while read l; do $l; done < x`,
		`(cat; echo b) | sh`, `echo "$x" | sh`, "sh <<E\n$x\nE", `echo b > x | sh`,
	} {
		if r := Parse(line, nil); r.Static() {
			t.Errorf("%q is static:\n%s", line, dump(r))
		}
	}
}

// bombs are lines that are made to be slow or deep.
func bombs() []string {
	n := func(s string, times int) string { return strings.Repeat(s, times) }
	doubling := "X=aaaaaaaa"
	for range 40 {
		doubling += ";X=$X$X"
	}
	loops := ""
	for range 12 {
		loops += "for i in 1 2 3 4 5 6 7 8 9 10; do "
	}
	whiles := ""
	for i := range 12 {
		whiles += fmt.Sprintf("while a$((x%d++)); do X%d=$X%d; ", i, i, i+1)
	}
	functions := "f0() { a; };"
	for i := range 14 {
		functions += fmt.Sprintf("f%d() { f%d 1; f%d 2; };", i+1, i, i)
	}
	quoted := "a"
	for range 14 {
		quoted = "sh -c " + Canonical("x", quoted)[2:]
	}
	return []string{
		n("(", 60000), n("$(", 30000), n("`", 60000), n("{ ", 30000), n("if ", 20000), n("! ", 30000), n("while ", 10000),
		n("$((", 20000), n("[[ ", 20000), "a " + n("${x:-", 12000), n("a && ", 12000) + "a", n("a|", 30000) + "a", n("a;", 32000),
		"a " + n("{a,b}", 10000), "a " + n("{", 30000) + n("}", 30000), "a {1..999999999}", "a {1..9223372036854775807..1}",
		"a {-9223372036854775808..9223372036854775807}", "a " + n("{a,", 20000) + n("}", 20000), doubling + ";$X",
		loops + "a" + n("; done", 12), whiles + "b" + n("; done", 12), functions + "f14", quoted,
		n("time ", 12000), n("coproc ", 9000), n("a() ", 16000) + "{ b; }", "a " + n("$", 60000), "a " + n("\\", 60000),
		n("x=1 ", 16000), n("a > b ", 10000), n("<<E ", 16000), "a " + n("~", 60000), "a " + n("'", 60001), n("case x in x) ", 5000),
		n("eval ", 13000) + "a", n("sudo ", 13000) + "a", "a " + n("x", MaxLine), n("cd a; ", 9000), n("cd .. && ", 7000) + "a",
		"for i in " + n("a ", 20000) + "; do b; done", n("for i in a b; do ", 3000), "X='" + n("b ", 20000) + "';" + n("$X;", 5000),
	}
}

// No line takes long, whatever it is made of. The limit is generous: it tells
// linear from exponential, not fast from slow.
func TestBombs(t *testing.T) {
	for _, line := range bombs() {
		done := make(chan *Reading, 1)
		go func() { done <- Parse(line, &Options{Dir: "/w"}) }()
		select {
		case r := <-done:
			if len(r.Commands) > maxCommands+1 || strings.Contains(strings.Join(r.Unclear, "\n"), failedPrefix) {
				t.Errorf("%.40q: %d commands, %.200q", line, len(r.Commands), r.Unclear)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%.40q takes too long", line)
		}
	}
}

func TestTooLong(t *testing.T) {
	if r := Parse(strings.Repeat("a", MaxLine+1), nil); r.Static() || len(r.Commands) != 0 {
		t.Errorf("a line that is too long: %q", r.Unclear)
	}
	if r := Parse(strings.Repeat("a", MaxLine), nil); !r.Static() {
		t.Errorf("a line of the longest length: %q", r.Unclear)
	}
}

func under(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// dump shows a reading on one line for each command.
func dump(r *Reading) string {
	var b strings.Builder
	for _, c := range r.Commands {
		fmt.Fprintf(&b, "%s", c.Line)
		if c.Wrappers != nil {
			fmt.Fprintf(&b, " via %s", strings.Join(c.Wrappers, ", "))
		}
		b.WriteByte('\n')
	}
	for _, u := range slices.Sorted(slices.Values(r.Unclear)) {
		fmt.Fprintf(&b, "unclear: %s\n", u)
	}
	return b.String()
}
