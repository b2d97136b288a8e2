package shellparse

import (
	"strings"
	"testing"
)

// parsed writes how a row reads arguments: options, "|", operands, "|", what is
// not in the row.
func parsed(row, args string) string {
	p := &program{name: "x", row: row}
	p.compile()
	c := call{inv: &invocation{name: "x"}, prog: p, via: "x"}
	for a := range strings.FieldsSeq(args) {
		c.args = append(c.args, word{text: a, static: !strings.Contains(a, "$")})
	}
	c.parse()
	var b strings.Builder
	for _, g := range c.given {
		b.WriteString(g.name)
		if g.has {
			b.WriteString("=" + g.value.text)
		}
		b.WriteByte(' ')
	}
	b.WriteByte('|')
	for _, w := range c.remaining {
		b.WriteString(" " + w.text)
	}
	b.WriteString(" | " + c.unknown)
	if c.unclear {
		b.WriteString(" vague")
	}
	return b.String()
}

func TestParseArguments(t *testing.T) {
	const plain = " | r* | -ab -o/--output: -i/--in? --all -# --verbose --version"
	const wrap = "wrapper | - c | -k/--kill: -v"
	const late = "late | - c | -p: -v"
	const once = "once | r* | -o: -json -v -I:"
	for _, tt := range []struct{ row, args, want string }{
		{plain, "", "| | "},
		{plain, "x y", "| x y | "},
		{plain, "-a x -b", "-a -b | x | "},
		{plain, "-ab", "-a -b | | "},
		{plain, "-abo f x", "-a -b -o=f | x | "},
		{plain, "-aof x", "-a -o=f | x | "},
		{plain, "-o f x", "-o=f | x | "},
		{plain, "-o", "-o | | "},
		{plain, "--output f", "-o=f | | "},
		{plain, "--output=f", "-o=f | | "},
		{plain, "--out=f", "-o=f | | "},
		{plain, "--ver", "| | --ver"},
		{plain, "--verb", "--verbose | | "},
		{plain, "-i x", "-i | x | "},
		{plain, "-ix", "-i=x | | "},
		{plain, "--in x", "-i | x | "},
		{plain, "--in=x", "-i=x | | "},
		{plain, "-5 x", "| x | "},
		{plain, "+5 x", "| x | "},
		{plain, "- x", "| - x | "},
		{plain, "-- -a", "| -a | "},
		{plain, "-z x", "| x | -z"},
		{plain, "-az x", "-a | x | -az"},
		{plain, "--frob=x", "| | --frob=x"},
		{plain, "$x", "| $x |  vague"},
		{plain, "-- $x", "| $x |  vague"},
		{plain, `-- "$x"`, `| "$x" | `},
		{plain, `-o "$x"`, `-o="$x" | | `},
		{plain, "-o $x", "-o=$x | |  vague"},
		{plain, "--output=$x", "-o=$x | |  vague"},
		{plain, `"--output=$x"`, "-o=$x | |  vague"},
		{plain, `a"$x"`, `| a"$x" | `},
		{wrap, "5 a -v", "| 5 a -v | "},
		{wrap, "-v 5 a", "-v | 5 a | "},
		{wrap, "-k 1 5 a", "-k=1 | 5 a | "},
		{wrap, "--kill=1 -- 5 a", "-k=1 | 5 a | "},
		{late, "h -v a -p", "-v | h a -p | "},
		{late, "-p 1 h -p 2 a b", "-p=1 -p=2 | h a b | "},
		{once, "-json x", "-json | x | "},
		{once, "--json x", "-json | x | "},
		{once, "-o f", "-o=f | | "},
		{once, "-o=f", "-o=f | | "},
		{once, "-Idir", "-I=dir | | "},
		{once, "-frob", "| | -frob"},
		{" | r* | -c:$ -v", "-c x -v y", "-c=x | -v y | "},
		{" | r* | -a:-2 -v", "-a n x -v", "-a=x -v | | "},
		{" | r* | -l?# -e:", "-l0e x", "-l=0 -e=x | | "},
		{" | r* | -l?# -e:", "-le x", "-l -e=x | | "},
		{"early | r* | -v", "a -v", "| a -v | "},
	} {
		if got := parsed(tt.row, tt.args); got != tt.want {
			t.Errorf("%s: %s\n\tis %q, want %q", tt.row, tt.args, got, tt.want)
		}
	}
}

// A row that cannot be read stops the tests, not a person.
func TestRowsAreChecked(t *testing.T) {
	for _, row := range []string{
		"frob | r | -a", " | q | -a", " | rr | -a", " | r | -a:q", " | r | -ab:", " | r | -a:-%",
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the row %q is read", row)
				}
			}()
			(&program{name: "x", row: row}).compile()
		}()
	}
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{
		"ls": "ls", "python3": "python", "python3.12": "python", "gcc-12": "gcc", "gtimeout": "timeout", "gsed": "sed", "lua5.4": "lua",
		"ls2": "", "cat3": "", "gps": "", "frob": "", "": "", "3": "", "git": "git", "x86_64": "x86_64",
	} {
		got := ""
		if p := lookup(name); p != nil {
			got = p.name
		}
		if got != want {
			t.Errorf("lookup(%q) is %q, want %q", name, got, want)
		}
	}
}

func TestEnvString(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		ok         bool
	}{
		{"a b", "a|b", true},
		{" a  'b c' ", "a|b c", true},
		{`a"b c"d`, "ab cd", true},
		{"", "", true},
		{`''`, "", true},
		{`a 'b`, "", false},
		{`a $B`, "", false},
		{`a\ b`, "", false},
	} {
		words, ok := splitString(word{text: tt.text, static: true})
		var texts []string
		for _, w := range words {
			texts = append(texts, w.text)
		}
		if ok != tt.ok || ok && strings.Join(texts, "|") != tt.want {
			t.Errorf("%q is split into %q, %v", tt.text, texts, ok)
		}
	}
}
