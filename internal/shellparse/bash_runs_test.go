package shellparse

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// TestAgainstBashRuns makes lines at random, lets bash run them with no program on
// its PATH, and checks that whatever bash looked up is in the reading: by its
// words, and with the folder it ran in, unless the reading says that it is unclear.
// SHELLREAD_LINES asks for more lines, other ones each time.
func TestAgainstBashRuns(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		testneed.Need(t, "no bash on the PATH: apt-get install bash makes this run")
	}
	count, seed := 120, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("SHELLREAD_LINES")); err == nil {
		count, seed = n, uint64(os.Getpid())
	}
	root := t.TempDir()
	for _, d := range []string{"a/a/a", "a/b/a", "b/a/b", "b/b/b"} {
		if err := os.MkdirAll(filepath.Join(root, "w", d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(root, "log")
	g := &grammar{rand.New(rand.NewPCG(seed, 0))}
	unclear := 0
	for i := range count {
		line := g.pick("", "X=a; Y=c1; Z='c2 b'; set -- c3 a\n", "X=c0 Y=b; Z=; set -- 'a b' c1\n", "X=; Y=c1 Z=; set -- \n") + g.list(g.IntN(4))
		r := Parse(line, &Options{Dir: filepath.Join(root, "w"), Home: "/nowhere"})
		if !r.Static() {
			unclear++
		}
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		// Programs named c0 to c5 are looked up and not found; odd ones fail.
		// The counters and FUNCNEST end what would go on for ever.
		script := "ulimit -t 2; FUNCNEST=8\n" + fmt.Sprintf(`command_not_found_handle() { local e; printf -v e '%%s\x01' "$PWD" "$@"; printf '%%s\n' "$e" >>%s; case $1 in *[135]) return 1;; esac; }`, log)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		cmd := exec.CommandContext(ctx, bash, "--norc", "--noprofile", "-c", script+"\n"+line)
		cmd.Env = []string{"HOME=/nowhere", "PATH=/nowhere"}
		cmd.Dir = filepath.Join(root, "w")
		_ = cmd.Run() // it may well fail
		cancel()
		ran, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for entry := range strings.Lines(string(ran)) {
			words := strings.Split(strings.TrimSuffix(entry, "\x01\n"), "\x01")
			if r.Static() && len(words) > 1 && !covers(r, words[0], words[1:]) {
				t.Errorf("line %d: bash ran %q in %s\n%s\nread:\n%s", i, words[1:], words[0], line, dump(r))
				break
			}
		}
	}
	t.Logf("%d of %d lines were unclear", unclear, count)
}

// covers reports whether a reading has a command with these words in this folder.
func covers(r *Reading, dir string, words []string) bool {
	return slices.ContainsFunc(r.Commands, func(c Command) bool {
		if c.Name == "" {
			return true // it may be any
		}
		if c.Program != words[0] {
			return false
		}
		for i, a := range c.Args {
			if !a.Static {
				return true
			}
			if i+1 >= len(words) || a.Text != words[i+1] {
				return false
			}
		}
		if len(c.Args) != len(words)-1 {
			return false
		}
		return len(words) == 1 && (c.Dir == "" || c.Dir == dir) || slices.ContainsFunc(c.Paths, func(p Path) bool {
			return p.Path == "" || p.Path == p.Arg || p.Path == filepath.Join(dir, p.Arg)
		}) || len(c.Paths) == 0
	})
}

// grammar makes shell lines.
type grammar struct{ *rand.Rand }

func (g *grammar) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g *grammar) list(depth int) string {
	var b strings.Builder
	for i := range 1 + g.IntN(4) {
		if i > 0 {
			b.WriteString(g.pick("; ", "\n", " && ", " || ", "; "))
		}
		b.WriteString(g.stmt(depth))
	}
	return b.String()
}

func (g *grammar) stmt(depth int) string {
	if depth == 0 {
		return g.simple()
	}
	in := func() string { return g.list(depth - 1) }
	switch g.IntN(24) {
	case 0:
		return "if " + in() + "; then " + in() + "; fi"
	case 1:
		return "if " + g.simple() + "; then " + in() + "; else " + in() + "; fi"
	case 2:
		return "for " + g.pick("X", "Y", "Z") + " in " + g.words() + "; do " + in() + "; done"
	case 3:
		return "while ((N++<3)) && " + g.simple() + "; do " + in() + "; " + g.pick("X=c5; ", "cd a; ", "") + "break; done"
	case 4:
		return "until ((N++>3)) || " + g.simple() + "; do " + in() + "; break; done"
	case 5:
		return "case " + g.word() + " in " + g.pick("c1", "x", "*") + ") " + in() + g.pick(";;", ";&", ";;&") + " *) " + in() + ";; esac"
	case 6:
		return g.pick("f", "g", "c4") + "() { " + in() + "; }"
	case 7, 8:
		return g.pick("f", "g") + " " + g.words()
	case 9:
		return "(" + in() + ")"
	case 10:
		return "{ " + in() + "; }"
	case 11:
		return "! " + g.simple()
	case 12:
		return g.simple() + " | " + g.simple()
	case 13:
		return "eval '" + strings.ReplaceAll(g.simple(), "'", "") + "'"
	case 14:
		return "eval \"" + strings.NewReplacer(`"`, ``, `\`, ``, "`", "").Replace(g.simple()) + "\""
	case 15:
		return "set -- " + g.words()
	case 16:
		return g.pick("shift", "return", "exit", "break", "continue", "unset X", "local X=c3", "export Y=c1", "readonly Z=c2", "declare X=c0", "X+=1", "break 2")
	case 17:
		return "for X in " + g.words() + "; do " + in() + "; " + g.pick("continue", "break", "c0") + "; " + in() + "; done"
	default:
		return g.simple()
	}
}

func (g *grammar) simple() string {
	switch g.IntN(6) {
	case 0:
		return g.pick("X", "Y", "Z") + "=" + g.value()
	case 1:
		return "cd " + g.pick("a", "b", "..", "a/b", "$X", "nowhere", "\"$1\"", "/nowhere")
	case 2:
		return g.pick("X=c2 ", "Y=c3 Z=a ", "") + g.program() + " " + g.words()
	default:
		return g.program() + " " + g.words()
	}
}

func (g *grammar) program() string {
	return g.pick("c0", "c1", "c2", "c3", "c0", "c1", `c"2"`, `\c3`, `$'c\x31'`, "{c0,c1}", "$X", `"$Y"`, "$Z", "${X:-c3}", "$1", `"$@"`, "$(echo c1)", "c4", "command c2")
}

func (g *grammar) words() string {
	var b strings.Builder
	for range g.IntN(3) {
		b.WriteString(g.word() + " ")
	}
	return strings.TrimRight(b.String(), " ")
}

func (g *grammar) word() string {
	return g.pick("a", "b", "a/b", "'x y'", "$X", `"$X"`, "$Y", `"$Y"`, "$Z", "$1", `"$@"`, "$*", "a{1,2}", "${X:-b}", `"${Y:+c1 b}"`, "${Z:=c0}",
		"$(c1 b)", `"$(c3)"`, "$(echo a b)", "`c2 $X`", "${X-c2}", "$((X+1))", "c1")
}

func (g *grammar) value() string {
	return g.pick("c0", "c1", "'c2 b'", `"c3 $X"`, "$X", "$Y", `"$1"`, "", "$(echo c1)", "$(c0)", "a", "b", "~", "c{0,1}")
}
