package shellparse

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// TestAgainstBash compares what words expand to with what bash makes of them.
// The lines only print.
func TestAgainstBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		testneed.Need(t, "no bash on the PATH: apt-get install bash makes this run")
	}
	for _, line := range []string{
		`p a 'b c' "d e" f\ g "h\"i\$j\\k\l" ''`,
		`p $'a\tb\x41\102\u00e9\'\"\\\?\cA\e\E\v\f\a\b\r\n' $'\q' $'\x' $'a\0b'c $'\400b'`,
		`p $"hello $X" "a'b" 'a"b'`,
		`p {a,b} x{1,2}y {1..3} {3..1} {a..e..2} {01..10..3} {-2..2} {1..3}{a,b} {a,{b,c}d} {x} {a,b {,z} a{,}b '{a,b}' \{a,b} {a..3} {1..2..0}`,
		`p {1,2..3} {a,b}{c {{a,b},c} a{b,c}d{e,f}g {'a b',c} {"x,y",z} {$A,b}`,
		`p ~ ~/x "~" '~' \~ a~ ~+ x=~ x=~/y:~/z a:~ --f=~ ~"x" ~/"x y"`,
		`A="x y"; p $A "$A" a$A"b"c ${A} "${A}"`,
		`A=" x  y "; p $A a$A"b" a${A}b`,
		`A=; p $A "$A" a$A ''$A`,
		`A=x; B=$A$A; B+=y; p $B "${B}z"`,
		`A=a B=b; p $A$B`,
		`p "a` + "\n" + `b" a\` + "\n" + `b 'a\` + "\n" + `b' "a\` + "\n" + `b"`,
		`p "\a\n\x" '\a\n' \a\n`,
		`A=val; p ${A:-w} ${A-w} ${A:+w} ${A+w} ${A:=w}`,
		`A=; p "${A:-w}" "${A-w}" "${A:+w}" "${A+w}"`,
		`A=; p ${A:=new} $A`,
		`A=; p "${A:-a b}" ${A:-"a b"} "${A:-"q"}" "${A:-'q'}"`,
		`set -- a "b c" d; p "$@" "x$@y" $1 "$2" ${3} "$*"`,
		`set -- a "b c" d; p $@ x$*`,
		`set --; p "$@" x"$@"y ''"$@"`,
		`set -- a b c; shift; p "$@" $1`,
		`A=$(printf x) ; p a`,
		`p $(echo a b) "$(echo a b)"`,
		`p "$(echo 'a  b')" $(echo 'a  b') x$(echo)y`,
		`f() { p "$1" $2 "$@"; }; f "a b" "c d"`,
		`for i in a "b c" {1..2}; do p "$i" x$i; done`,
		`A=1; (A=2; p $A); p $A`,
		`A=1; { A=2; p $A; }; p $A`,
		`A=1; true | A=2; p $A`,
		`A='*'; p "$A"`,
		`p a#b '#' \# # c`,
		`p \* \? \[a\] '*' "?"`,
		`p a=b c=d e=f`,
		`case x in x) p yes;; esac`,
		`cat <<E` + "\n" + `a\$b \\ \" $(echo x)` + "\nE\n" + `p done`,
		`A=x; A=y p $A`,
		`unset A; p x`,
		`export A="b c"; p "$A" $A`,
		`declare A='b c'; p "$A"`,
		`readonly A=b; p $A`,
		`p é ü "日本" $'\xe9'`,
		`p "${HOME}" $HOME/x`,
		`eval 'p "a b" c'`,
		`eval p "'a b'" c`,
		`p a{b,c}~ {~,x}/y ~{a,b}`,
		`p "a"'b'c\d$'e'$"f"`,
		`p -- -x --y=z -`,
		`p "$'a'" '$A' \$A "\$A"`,
		`p a !b ! c`,
		`p @ % ^ + , : . / = _ ]`,
	} {
		script := `p() { for a in "$@"; do printf '<%s>' "$a"; done; printf '\n'; }` + "\n" + line
		cmd := exec.Command(bash, "--norc", "--noprofile", "-c", script)
		cmd.Env = []string{"HOME=/home/u", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
		cmd.Dir = t.TempDir()
		printed, err := cmd.Output()
		if err != nil {
			t.Errorf("bash: %v in %s", err, line)
			continue
		}
		r := Parse(line, &Options{Dir: cmd.Dir, Home: "/home/u"})
		var got strings.Builder
		certain := r.Static()
		for _, c := range r.Commands {
			if c.Name != "p" {
				continue
			}
			for _, a := range c.Args {
				certain = certain && a.Static
				got.WriteString("<" + a.Text + ">")
			}
			got.WriteString("\n")
		}
		bashSays := string(printed)
		if i := strings.IndexByte(bashSays, '<'); i > 0 {
			bashSays = bashSays[i:] // what cat printed
		}
		if !certain {
			t.Logf("not certain: %s -> %s (%q), bash says %s", line, got.String(), r.Unclear, bashSays)
			continue
		}
		if got.String() != bashSays {
			t.Errorf("%s\n got %s\nbash %s", line, got.String(), bashSays)
		}
	}
}
