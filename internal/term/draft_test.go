package term

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// typeKeys types keys and returns the texts that Enter has ended.
func typeKeys(d *draft, keys string) (texts []string) {
	for _, e := range d.keys.Feed([]byte(keys)) {
		switch d.press(e) {
		case "enter", "ctrl+j":
			if text := d.take(); text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

func TestDraft(t *testing.T) {
	for name, tt := range map[string]struct{ typed, texts, rest string }{
		"lines":                    {"one\rtwo\nthree", "one|two", "three"},
		"empty lines":              {"\r \r\n", "", ""},
		"a newline":                {"one\x1b\rtwo\r", "one\ntwo", ""},
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
		"paste":                    {"\x1b[200~one\r\ntwo\n  three\x1b[201~ four\r", "one\ntwo\n  three four", ""},
		"pasted escape":            {"\x1b[200~a\x1b[31mb\x1b]0;t\x07c\x00d\x1b[201~", "", "abcd"},
		"answer of the terminal":   {"a\x1b]11;rgb:0/0/0\x07\x1bP>|xterm\x1b\\b", "", "ab"},
		"other control characters": {"a\x00\x01\x04b", "", "ab"},
		"invalid bytes":            {"a\xffb\xc3(", "", "ab("},
		"tab":                      {"a\tb", "", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			var d draft
			if got := strings.Join(typeKeys(&d, tt.typed), "|"); got != tt.texts || d.text != tt.rest {
				t.Errorf("%q and %q, want %q and %q", got, d.text, tt.texts, tt.rest)
			}
		})
	}
}

func TestDraftAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d draft
		texts := typeKeys(&d, string(rapid.SliceOf(rapid.Byte()).Draw(t, "typed")))
		if all := strings.Join(texts, "") + d.text; !utf8.ValidString(all) || strings.ContainsAny(all, "\r\x1b\x07") {
			t.Fatalf("the draft is %q, the texts %q", d.text, texts)
		}
	})
}

func TestTail(t *testing.T) {
	for text, want := range map[string]string{
		"abc": "abc", "0123456789": "0123456789", "0123456789a": "…3456789a", "a\nb\tc": "a⏎b c", "a\x1b": "a\\x1b",
		strings.Repeat("漢", 500): "…漢漢漢漢",
	} {
		if got := tail(text, 10); got != want {
			t.Errorf("tail(%q) = %q, want %q", text, got, want)
		}
	}
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
