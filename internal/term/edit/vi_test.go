package edit

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// viKeys returns keys: "<esc>" and "<cr>" are Escape and a line break; other characters are themselves.
func viKeys(s string) (keys []Key) {
	for s != "" {
		switch {
		case strings.HasPrefix(s, "<esc>"):
			keys, s = append(keys, Key{Name: "esc"}), s[5:]
		case strings.HasPrefix(s, "<cr>"):
			keys, s = append(keys, Key{Name: "enter", Alt: true}), s[4:]
		default:
			r := []rune(s)[0]
			keys, s = append(keys, Key{Code: r, Text: string(r)}), s[len(string(r)):]
		}
	}
	return keys
}

// viText returns the text with the cursor as ▏ before its character.
func viText(e *Editor) string {
	return join(e.text[:e.cursor]) + "▏" + join(e.text[e.cursor:])
}

func TestVi(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"hello<esc>", "hell▏o"},
		{"hello<esc>0x", "▏ello"},
		{"one two three<esc>0w", "one ▏two three"},
		{"one two three<esc>02w", "one two ▏three"},
		{"one two<esc>b", "one ▏two"},
		{"one two<esc>bb", "▏one two"},
		{"one.two<esc>0w", "one▏.two"},
		{"one two<esc>0e", "on▏e two"},
		{"one two<esc>0ee", "one tw▏o"},
		{"  one<esc>^", "  ▏one"},
		{"  one<esc>0", "▏  one"},
		{"one<esc>0$", "on▏e"},
		{"one<esc>hh", "▏one"},
		{"one<esc>hhhhl", "o▏ne"},
		{"one<esc>0i-<esc>", "▏-one"},
		{"one<esc>0a-<esc>", "o▏-ne"},
		{"  one<esc>I-<esc>", "  ▏-one"},
		{"one<esc>0A-<esc>", "one▏-"},
		{"one<esc>otwo<esc>", "one\ntw▏o"},
		{"one<esc>Otwo<esc>", "tw▏o\none"},
		{"one<cr>two<esc>kotwo<esc>", "one\ntw▏o\ntwo"},
		{"abc<esc>0xp", "b▏ac"},
		{"abc<esc>0xP", "▏abc"},
		{"abcdef<esc>03x", "▏def"},
		{"abc<esc>x", "a▏b"},
		{"one two three<esc>0dw", "▏two three"},
		{"one two three<esc>0d2w", "▏three"},
		{"one two three<esc>02dw", "▏three"},
		{"one two<esc>0wdw", "one▏ "},
		{"one<cr>two<esc>k0dw", "▏\ntwo"},
		{"one two<esc>0cwsix<esc>", "si▏x two"},
		{"one two<esc>0cw<esc>", "▏ two"},
		{"a b<esc>0cwx<esc>", "▏x b"},
		{"one two<esc>0de", "▏ two"},
		{"one two<esc>db", "one ▏o"},
		{"one two<esc>0wD", "one▏ "},
		{"one two<esc>0wCsix<esc>", "one si▏x"},
		{"one<cr>two<cr>three<esc>kdd", "one\n▏three"},
		{"one<cr>two<esc>dd", "▏one"},
		{"one<esc>dd", "▏"},
		{"one<cr>two<cr>three<esc>kk2dd", "▏three"},
		{"one<cr>two<esc>kddp", "two\n▏one"},
		{"one<cr>two<esc>ddP", "▏two\none"},
		{"one<cr>two<esc>dd2p", "one\n▏two\ntwo"},
		{"one<cr>two<esc>kccsix<esc>", "si▏x\ntwo"},
		{"one<cr>two<cr>three<esc>kkdj", "▏three"},
		{"one<cr>two<cr>three<esc>dk", "▏one"},
		{"one<esc>yyp", "one\n▏one"},
		{"one two<esc>0ywP", "one▏ one two"},
		{"abc<esc>0rx", "▏xbc"},
		{"abc<esc>02rx", "x▏xc"},
		{"abc<esc>05rx", "▏abc"},
		{"a.b.c<esc>0f.", "a▏.b.c"},
		{"a.b.c<esc>02f.", "a.b▏.c"},
		{"a.b.c<esc>0f.;", "a.b▏.c"},
		{"a.b.c<esc>0t.", "▏a.b.c"},
		{"a.b.c<esc>0t.;", "a.▏b.c"},
		{"a.b.c<esc>0df.", "▏b.c"},
		{"a.b.c<esc>0dt.", "▏.b.c"},
		{"a.b.c<esc>F.", "a.b▏.c"},
		{"abc<esc>fx", "ab▏c"},
		{"one two<esc>0dwu", "▏one two"},
		{"one two three<esc>0cwsix seven<esc>u", "▏one two three"},
		{"one two three<esc>0dw.", "▏three"},
		{"a b c<esc>0cwx<esc>w.", "x ▏x c"},
		{"a b c<esc>0cwxx<esc>w.u", "xx ▏b c"},
		{"abc<esc>0x..", "▏"},
		{"one<esc>A!<esc>.", "one!▏!"},
		{"one<cr>two<esc>gg", "▏one\ntwo"},
		{"one<cr>two<esc>ggG", "one\ntw▏o"},
		{"one<esc>d<esc>x", "o▏n"},
		{"one<esc>zqx", "o▏n"},
		{"世界 👩‍👩‍👧<esc>x", "世界▏ "},
		{"<esc>x", "▏"},
		{"<esc>dwdd.pu", "▏"},
		{"one<cr>two<cr><cr>four<esc>kk0j", "one\ntwo\n▏\nfour"},
	} {
		e := New(nil)
		e.SetVi(true)
		for _, k := range viKeys(tt.keys) {
			e.Press(k)
		}
		if got := viText(e); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.keys, got, tt.want)
		}
	}
}

// Escape is for the program when it has nothing to end. Enter sends in both modes, and a new text
// begins in insert mode.
func TestViModes(t *testing.T) {
	e := New(nil)
	if e.Mode() != "" {
		t.Error(e.Mode())
	}
	e.SetVi(true)
	esc, enter := Key{Name: "esc"}, Key{Name: "enter"}
	steps := []struct {
		k    Key
		want Result
		mode string
	}{
		{Key{Text: "a", Code: 'a'}, Handled, "insert"},
		{esc, Handled, "normal"},
		{esc, Ignored, "normal"},
		{Key{Text: "d", Code: 'd'}, Handled, "normal"},
		{esc, Handled, "normal"},
		{esc, Ignored, "normal"},
		{enter, Submit, "normal"},
	}
	for i, s := range steps {
		if got := e.Press(s.k); got != s.want || e.Mode() != s.mode {
			t.Errorf("step %d: result %d, mode %s", i, got, e.Mode())
		}
	}
	if text := e.Take().Text; text != "a" || e.Mode() != "insert" {
		t.Errorf("%q, mode %s", text, e.Mode())
	}
	e.SetVi(false)
	if r := e.Press(esc); r != Ignored || e.Mode() != "" {
		t.Error("escape still does something")
	}
}

// No sequence of keys moves the cursor out of the text, and in normal mode it is on a character. Undo
// brings the first text back.
func TestViAnyKeys(t *testing.T) {
	letters := []string{"h", "j", "k", "l", "w", "b", "e", "0", "$", "^", "i", "a", "I", "A", "o", "O", "x", "d", "c", "y", "D", "C", "p", "P", "u", ".", "r", "f", "t", "F", "T", ";", "g", "G", "2", "3", " ", "é", "s", "S", "X", "Y"}
	rapid.Check(t, func(t *rapid.T) {
		e := New(nil)
		e.SetVi(true)
		e.Set(Entry{Text: rapid.StringMatching(`[a b.\n世]{0,20}`).Draw(t, "text")})
		start := e.Text()
		e.Press(Key{Name: "esc"})
		for _, k := range rapid.SliceOfN(rapid.SampledFrom(append([]string{"<esc>", "<cr>"}, letters...)), 0, 30).Draw(t, "keys") {
			e.Press(viKeys(k)[0])
			if e.cursor < 0 || e.cursor > len(e.text) {
				t.Fatalf("cursor %d of %d", e.cursor, len(e.text))
			}
			if e.Mode() == "normal" && e.cursor > e.lineStart() && e.cursor == e.lineEnd() {
				t.Fatalf("after %s, the cursor is behind its line: %q", k, viText(e))
			}
		}
		for e.Mode() == "insert" {
			e.Press(Key{Name: "esc"})
		}
		for range 100 {
			e.Undo()
		}
		if e.Text() != "" && e.Text() != start {
			t.Fatalf("undo leads to %q", e.Text())
		}
	})
}
