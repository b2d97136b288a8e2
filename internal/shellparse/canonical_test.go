package shellparse

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{nil, ``},
		{[]string{""}, `''`},
		{[]string{"a=b", "a=b"}, `'a=b' a=b`},
		{[]string{"if", "if"}, `'if' if`},
		{[]string{"!", "!"}, `'!' !`},
		{[]string{"{}", "{}"}, `'{}' {}`},
		{[]string{"a", "#b", "b#"}, `a '#b' b#`},
		{
			[]string{"a", "~", "*", "?", "[", "[a]", "{a,b}", "$x", "`x`", `\`, ";", "&", "|", "<", ">", "(", ")"},
			"a '~' '*' '?' [ '[a]' '{a,b}' '$x' '`x`' '\\' ';' '&' '|' '<' '>' '(' ')'",
		},
		{[]string{"a", "b c", "it's", `"`}, `a 'b c' 'it'\''s' '"'`},
		{[]string{"a", "x\ny", "\t", "\x1b[1m", "\xff", "\u202e", "'\r"}, `a $'x\ny' $'\t' $'\033[1m' $'\377' $'\342\200\256' $'\'\015'`},
		{[]string{"a", "é", "日本", "a\u00a0b"}, `a é 日本 $'a\302\240b'`},
		{[]string{"git", "log", "HEAD^", "--format=%h", "a@{u}"}, `git log HEAD^ --format=%h 'a@{u}'`},
		{[]string{"/bin/ls", "-la", "./x,y", "a:b", "1+1", "50%"}, `/bin/ls -la ./x,y a:b 1+1 50%`},
	} {
		if got := Canonical(tt.words...); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.words, got, tt.want)
		}
	}
}

// Words that a random choice of pieces makes read back as they are.
func TestCanonicalReadsBack(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "B", "'", `"`, `\`, " ", "\n", "\t", "$", "`", "*", "?", "[", "]", "{", "}", ",", "..", "~", "#", "=", "!", "(", ")", "&", "|", ";", "<", ">", "é", "\xff", "\x01", "if", "-", "/", "\u202e", "%", "^"}
	for range 3000 {
		words := make([]string, 1+g.IntN(3))
		for i := range words {
			for range g.IntN(5) {
				words[i] += pieces[g.IntN(len(pieces))]
			}
		}
		checkCanonical(t, words)
	}
}

// The short way for plain lines gives what the parser's way gives.
func TestParseSimple(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "rm", "if", "time", "let", "export", "cd", "exit", "-x", "x=1", "=", "/", "./a", "..", " ", "  ", "a:b", "@", "%", "+", "-", ",", "1", "for", "in", "}", "sudo", "env", "echo", "git", "!"}
	plain := 0
	for range 3000 {
		var b strings.Builder
		for range g.IntN(6) {
			b.WriteString(pieces[g.IntN(len(pieces))])
			b.WriteString([]string{"", " ", " "}[g.IntN(3)])
		}
		line, o := b.String(), &Options{Dir: "/w", Home: "/home/u"}
		short := newStart(line, o)
		if short.frame.parseSimple(&short.scope, &short.in) {
			plain++
			if long := readFully(line, o); !reflect.DeepEqual(short.reader.out, long) {
				t.Errorf("%q\nshort:\n%slong:\n%s", line, dump(short.reader.out), dump(long))
			}
		}
	}
	if plain < 500 {
		t.Errorf("only %d of the lines are plain", plain)
	}
}
