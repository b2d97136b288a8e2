package term

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestDraft(t *testing.T) {
	for name, tt := range map[string]struct{ typed, lines, rest string }{
		"lines":                    {"one\rtwo\nthree", "one|two", "three"},
		"empty lines":              {"\r \r\n", "", ""},
		"backspace":                {"ab\x7fc\x08d", "", "ad"},
		"backspace on nothing":     {"\x7f\x7fa", "", "a"},
		"backspace, wide":          {"漢字\x7f", "", "漢"},
		"backspace, joined emoji":  {"a👩‍👩‍👧\x7f", "", "a"},
		"backspace, combining":     {"xe\u0301\x7f", "", "x"},
		"ctrl-u":                   {"one two\x15three", "", "three"},
		"ctrl-w":                   {"one two  \x17", "", "one "},
		"ctrl-w on one word":       {"one\x17", "", ""},
		"arrow keys":               {"a\x1b[A\x1bOB\x1b[1;5Cb", "", "ab"},
		"alt and a key":            {"a\x1bxb", "", "ab"},
		"paste":                    {"\x1b[200~one\r\ntwo\n three\x1b[201~ four\r", "one two  three four", ""},
		"pasted escape":            {"\x1b[200~a\x1b[31mb\x1b[201~", "", "ab"},
		"answer of the terminal":   {"a\x1b]11;rgb:0/0/0\x07\x1bP>|xterm\x1b\\b", "", "ab"},
		"other control characters": {"a\x00\x01\x04b", "", "ab"},
		"invalid bytes":            {"a\xffb\xc3(", "", "ab("},
		"tab":                      {"a\tb", "", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			var d draft
			var lines []string
			for _, c := range []byte(tt.typed) {
				if line, entered := d.feed(c); entered {
					lines = append(lines, line)
				}
			}
			if got := strings.Join(lines, "|"); got != tt.lines || d.text != tt.rest {
				t.Errorf("%q and %q, want %q and %q", got, d.text, tt.lines, tt.rest)
			}
		})
	}
}

func TestDraftEscape(t *testing.T) {
	var d draft
	for _, c := range []byte("a\x1b") {
		d.feed(c)
	}
	if !d.silent() || d.silent() {
		t.Error("Esc alone is not reported once")
	}
	if d.feed('b'); d.text != "ab" {
		t.Errorf("the draft is %q after Esc", d.text)
	}
}

func TestDraftAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d draft
		for _, c := range rapid.SliceOf(rapid.Byte()).Draw(t, "typed") {
			line, _ := d.feed(c)
			if !utf8.ValidString(d.text) || strings.ContainsAny(line+d.text, "\r\n\x1b\x07") {
				t.Fatalf("the draft is %q, the line %q", d.text, line)
			}
		}
	})
}

func TestColumn(t *testing.T) {
	for line, want := range map[string]int{
		"": 0, "abc": 3, "0123456789": 10, "0123456789a": 1, "漢字": 4, "012345678漢": 2, "\x1b[2mab\x1b[0m": 2,
		"a\tb": 9, "👩‍👩‍👧": 2, "e\u0301": 1,
	} {
		if got := column(line, 10); got != want {
			t.Errorf("column(%q) = %d, want %d", line, got, want)
		}
	}
}

func TestDraftBelowOutput(t *testing.T) {
	var b strings.Builder
	p := NewPrinter(&b, Style{TTY: true, Width: 20})
	p.Progress()
	shown := func(do func()) string {
		b.Reset()
		do()
		return b.String()
	}
	p.control("", func() { p.screen.typing = true })
	p.Text("abc")
	const draw = "\n\r\x1b[K> hi"
	if got := shown(func() { p.control("", func() { p.screen.draft = "hi" }) }); got != draw {
		t.Errorf("the first frame is %q", got)
	}
	if got, want := shown(func() { p.Text("def") }), "\r\x1b[K\x1b[A\x1b[4Gdef"+draw; got != want {
		t.Errorf("text: %q, want %q", got, want)
	}
	if got, want := shown(func() { p.Line("new") }), "\r\x1b[K\x1b[A\x1b[7G\nnew\n\r\x1b[K> hi"; got != want {
		t.Errorf("a line: %q, want %q", got, want)
	}
	p.Text(strings.Repeat("x", 20)) // the cursor waits at the end of a full line
	if got, want := shown(func() { p.Text("y") }), "\r\x1b[Ky"+draw; got != want {
		t.Errorf("after a full line: %q, want %q", got, want)
	}
	release := p.pause()
	if got := shown(func() { NewPrompter(&Keyboard{}, p).Out.Text("allow? ") }); got != "\r\x1b[K\x1b[A\x1b[2Gallow? " {
		t.Errorf("a question: %q", got)
	}
	if got := shown(release); !strings.HasSuffix(got, draw) {
		t.Errorf("after the question: %q", got)
	}
	if got := shown(func() { p.control("", func() { p.screen.draft = strings.Repeat("漢", 20) + "\x1b[2J" }) }); !strings.HasSuffix(got, "> …漢漢漢漢\\x1b[2J") {
		t.Errorf("a long draft: %q", got)
	}
}
