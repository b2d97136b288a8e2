package edit

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// keys reads keys from a text: characters type themselves, <ctrl+a> and <alt+enter> are keys with a
// name, and <paste>…</paste> is a paste.
func press(e *Editor, keys string) (last Result) {
	for keys != "" {
		if rest, ok := strings.CutPrefix(keys, "<paste>"); ok {
			text, after, _ := strings.Cut(rest, "</paste>")
			e.Paste(text)
			keys = after
			continue
		}
		if rest, ok := strings.CutPrefix(keys, "<"); ok && strings.Contains(rest, ">") {
			end := strings.Index(rest[1:], ">") + 1 // so that <alt+>> is a key
			if strings.HasPrefix(rest[end:], ">>") {
				end++
			}
			last = e.Press(key(rest[:end]))
			keys = rest[end+1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(keys)
		last = e.Press(Key{Code: r, Text: keys[:n]})
		keys = keys[n:]
	}
	return last
}

func key(name string) (k Key) {
	for {
		mod, rest, ok := strings.Cut(name, "+")
		if !ok {
			break
		}
		k.Ctrl, k.Alt, k.Shift = k.Ctrl || mod == "ctrl", k.Alt || mod == "alt", k.Shift || mod == "shift"
		name = rest
	}
	if r, n := utf8.DecodeRuneInString(name); n == len(name) {
		k.Code = r
	} else {
		k.Name = name
	}
	return k
}

// shown is the text with blocks as labels and "|" at the cursor.
func shown(e *Editor) string {
	var b strings.Builder
	for i, c := range e.text {
		if i == e.cursor {
			b.WriteByte('|')
		}
		if c.paste {
			b.WriteString(c.show)
		} else {
			b.WriteString(c.text)
		}
	}
	if e.cursor == len(e.text) {
		b.WriteByte('|')
	}
	return b.String()
}

const (
	family  = "👨‍👩‍👧‍👦"
	accent  = "e\u0301"
	hebrew  = "שלום"
	fiveRow = "1\n2\n3\n4\n5\n"
)

func TestKeys(t *testing.T) {
	for keys, want := range map[string]string{
		"":                                     "|",
		"hello":                                "hello|",
		"helo<left>l":                          "hell|o",
		"b<home>a<end>c":                       "abc|",
		"b<ctrl+a>a<ctrl+e>c":                  "abc|",
		"ab<ctrl+b><ctrl+b><ctrl+b>x<ctrl+f>y": "xay|b",
		"ab<backspace>":                        "a|",
		"ab<left><delete>":                     "a|",
		"ab<left><ctrl+d>":                     "a|",
		"a<left><left>b<right><right><right>c": "bac|",

		// lines
		"a<alt+enter>b":                  "a\nb|",
		"a<shift+enter>b":                "a\nb|",
		"a<ctrl+j>b":                     "a\nb|",
		`a\<enter>b`:                     "a\nb|",
		`a\<left><enter>`:                `a|\`,
		"a<ctrl+j>b<ctrl+a>x":            "a\nx|b",
		"a<ctrl+j>b<left><left>x<end>y":  "axy|\nb",
		"abc<ctrl+j>d<up>x":              "ax|bc\nd",
		"abc<ctrl+j><ctrl+j>abc<up><up>": "abc|\n\nabc",
		"ab<ctrl+j>cd<alt+<>x<alt+>>y":   "xab\ncdy|",
		"a<ctrl+j>b<ctrl+home>x":         "x|a\nb",

		// words
		"one two<alt+b>x":                      "one x|two",
		"one two<ctrl+left><alt+b>x":           "x|one two",
		"one two<home><alt+f>x":                "onex| two",
		"one, two!<alt+b><alt+b><alt+d>":       "|, two!",
		"one two-three<alt+backspace>":         "one two-|",
		"one two-three<ctrl+w>":                "one |",
		"naïve " + hebrew + "<alt+backspace>x": "naïve x|",
		"a_1.b2<alt+b>x":                       "a_1.x|b2",
		"日本 語<alt+b><alt+b>x":                  "x|日本 語",

		// kills
		"one two<ctrl+u>":                                       "|",
		"one two<alt+b><ctrl+k>":                                "one |",
		"a<ctrl+j>b<up><ctrl+k>":                                "a|b",
		"a<ctrl+j>b<ctrl+a><ctrl+u>":                            "a|b",
		"one two<ctrl+u>x<ctrl+y>":                              "xone two|",
		"one two<ctrl+w><ctrl+w>x<ctrl+y>":                      "xone two|",
		"one two<home><alt+d><alt+d><ctrl+y><ctrl+y>":           "one twoone two|",
		"one<ctrl+u>two<ctrl+u><ctrl+y><alt+y>":                 "one|",
		"one<ctrl+u>two<ctrl+u><ctrl+y><alt+y><alt+y>":          "two|",
		"one<ctrl+u>x<ctrl+k><ctrl+u><ctrl+y>":                  "x|",
		"one<ctrl+u>ab<alt+y><alt+y>":                           "ab|",
		"ab<left><ctrl+t>":                                      "ba|",
		"abc<ctrl+t>":                                           "acb|",
		"a<ctrl+t>":                                             "a|",
		"a<ctrl+j>b<ctrl+t>":                                    "a\nb|",
		"<ctrl+y><alt+y><ctrl+k><ctrl+u><ctrl+w><ctrl+t>":       "|",
		"<paste>" + fiveRow + "</paste>x<ctrl+u><ctrl+y>":       "[pasted 5 lines]x|",
		"<paste>" + fiveRow + "</paste>x<ctrl+t>":               "x[pasted 5 lines]|",
		"a<paste>" + fiveRow + "</paste>b<alt+b><alt+b>x":       "ax|[pasted 5 lines]b",
		"a<paste>" + fiveRow + "</paste>b<alt+b><alt+b><alt+b>": "|a[pasted 5 lines]b",

		// undo
		"one two<ctrl+_>":                                   "one|",
		"one two<ctrl+_><ctrl+_>":                           "|",
		"one two<ctrl+_>x<ctrl+_>":                          "one|",
		"one<ctrl+u><ctrl+_>":                               "one|",
		"ab<backspace><ctrl+_>":                             "ab|",
		"ab<left>x<ctrl+_>":                                 "a|b",
		"a<paste>b c</paste>d<ctrl+_>":                      "ab c|",
		"e\u0301<ctrl+_>":                                   "|",
		"a<ctrl+/><ctrl+_>":                                 "|",
		"one<ctrl+u><ctrl+y>x<ctrl+_>":                      "one|",
		"ab<ctrl+t><ctrl+_>":                                "ab|",
		"<paste>" + fiveRow + "</paste><backspace><ctrl+_>": "[pasted 5 lines]|",
		"one two<ctrl+_><ctrl+_><alt+/>":                    "one|",
		"one two<ctrl+_><ctrl+_><alt+/><alt+/><alt+/>":      "one two|",
		"one two<ctrl+_>x<alt+/>":                           "onex|",
		"one<ctrl+u><ctrl+_><home><alt+/>":                  "|",
		"<alt+/>a":                                          "a|",

		// pastes
		"<paste>1\r\n2\r3</paste>":                          "1\n2\n3|",
		"<paste>" + fiveRow + "</paste>":                    "[pasted 5 lines]|",
		"a<paste>" + fiveRow + "</paste>b<left><backspace>": "a|b",
		"<paste>" + strings.Repeat("x", 400) + "</paste>":   strings.Repeat("x", 400) + "|",
		"<paste>" + strings.Repeat("é", 401) + "</paste>":   "[pasted 401 characters]|",
		"<paste>a\x80b</paste>":                             "a\uFFFDb|",

		// clusters
		"a" + family + "b<left><backspace>":     "a|b",
		"a" + family + "<left>x":                "ax|" + family,
		accent + "x<left><left>y":               "y|" + accent + "x",
		accent + "<backspace>":                  "|",
		"e<ctrl+j>\u0301<left><backspace>":      "e\u0301|", // the mark joins the letter
		"🇩🇪🇫🇷<left><left>x":                     "x|🇩🇪🇫🇷",
		"👍<paste>\U0001f3fd</paste><backspace>": "|",
		hebrew + "<left>x":                      "שלוx|ם",
		hebrew + "<home>x":                      "x|" + hebrew,
		"日本語<backspace>":                        "日本|",
		"\u0301<backspace>a":                    "a|",
	} {
		e := New(nil)
		press(e, keys)
		if got := shown(e); got != want {
			t.Errorf("%q: %q, want %q", keys, got, want)
		}
	}
}

func TestResults(t *testing.T) {
	for keys, want := range map[string]Result{
		"a":                       Handled,
		"a<enter>":                Submit,
		"<enter>":                 Submit,
		`a\<enter>`:               Handled,
		"<esc>":                   Ignored,
		"<tab>":                   Ignored,
		"a<ctrl+c>":               Ignored,
		"<ctrl+d>":                Ignored,
		"a<ctrl+d>":               Handled,
		"<ctrl+r>":                Ignored, // no history
		"<shift+tab>":             Ignored,
		"<pgup>":                  Ignored,
		"<alt+x>":                 Ignored,
		"<ctrl+alt+a>":            Ignored,
		"<alt+y>":                 Ignored,
		"a<ctrl+up>":              Ignored,
		"<paste>x</paste><enter>": Submit,
	} {
		if got := press(New(nil), keys); got != want {
			t.Errorf("%q: %v, want %v", keys, got, want)
		}
	}
}

// What is sent has the content of blocks, and afterwards the editor is as new, except for the kill
// ring.
func TestTake(t *testing.T) {
	e := New(nil)
	press(e, "see <paste>"+fiveRow+"</paste>!<enter>")
	if e.Empty() {
		t.Error("it is empty before Take")
	}
	n := e.Take()
	if n.Text != "see "+fiveRow+"!" || len(n.Pastes) != 1 || n.Text[n.Pastes[0][0]:n.Pastes[0][1]] != fiveRow {
		t.Errorf("%+v", n)
	}
	if press(e, "<ctrl+_>"); !e.Empty() || e.Text() != "" {
		t.Errorf("%q", e.Text())
	}
	if e.Set(n); shown(e) != "see [pasted 5 lines]!|" {
		t.Errorf("%q", shown(e))
	}
	if press(e, "<ctrl+_>"); !e.Empty() {
		t.Errorf("%q", shown(e))
	}
	for _, bad := range [][2]int{{-1, 2}, {3, 2}, {2, 99}, {5, 6}} {
		if e.Set(Entry{Text: "é and ü", Pastes: [][2]int{bad, {4, 3}}}); e.Text() != "é and ü" {
			t.Errorf("%v: %q", bad, e.Text())
		}
	}
}

func TestWord(t *testing.T) {
	for keys, want := range map[string]string{
		"":                                       "",
		"look at @int":                           "@int",
		"/he":                                    "/he",
		"a<ctrl+j>/he":                           "/he",
		"@one two<left><left><left><left>":       "@one",
		"@one ":                                  "",
		"@日本":                                    "@日本",
		"<paste>" + fiveRow + "</paste>@f<left>": "@",
	} {
		e := New(nil)
		press(e, keys)
		before, after := join(e.text[:e.cursor]), join(e.text[e.cursor:])
		word, start := e.Word()
		if word != want {
			t.Errorf("%q: %q, want %q", keys, word, want)
		}
		e.Replace(start, "@done ")
		if got, want := e.Text(), strings.TrimSuffix(before, word)+"@done "+after; got != want {
			t.Errorf("%q: replaced: %q, want %q", keys, got, want)
		}
	}
}

// Any sequence of keys keeps the cursor in the text and on the screen, and can be undone.
func TestAnyKeys(t *testing.T) {
	texts := rapid.SampledFrom([]string{
		"a", "b", " ", "\\", "_", "日", family, "👨", "\u200d", "\u0301", "ש", "\u202e", "\x1b", "\t", "\x00", "🇩", "각", "ᄀ", "ᅡ",
		"\U000e0067", "\U0001f3fd", "क्षि", "क", "\u094d", "\ufe0f", "\n", "\u0600",
	})
	const unknown = "unknown"
	names := rapid.SampledFrom([]string{"enter", "tab", "esc", "backspace", "delete", "up", "down", "left", "right", "home", "end", "space", "pgup"})
	rapid.Check(t, func(t *rapid.T) {
		h, err := OpenHistory("", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"one", fiveRow, "日本 \x1b[31m", family} {
			if err := h.Add(t.Context(), newEntry(pasted(text))); err != nil {
				t.Fatal(err)
			}
		}
		e := New(&Options{History: h, Placeholder: "Ask"})
		var states []string // at each step of undo
		for range rapid.IntRange(0, 40).Draw(t, "keys") {
			steps := len(e.undo)
			before := e.Text()
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				e.Paste(strings.Join(rapid.SliceOfN(texts, 0, 12).Draw(t, "paste"), ""))
			case 1, 2, 3, 4:
				e.Press(Key{Text: texts.Draw(t, "text")})
			case 5, 6:
				e.Press(Key{Name: names.Draw(t, "name"), Ctrl: rapid.Bool().Draw(t, "c"), Alt: rapid.Bool().Draw(t, "a"), Shift: rapid.Bool().Draw(t, "s")})
			case 7:
				e.Press(Key{Code: rapid.RuneFrom([]rune("bdfy<>x/")).Draw(t, "meta"), Alt: true})
			case 8:
				e.Press(Key{Code: rapid.RuneFrom([]rune("abcdefghjknprstuwy_")).Draw(t, "ctrl"), Ctrl: true})
			case 9:
				_, start := e.Word()
				e.Replace(start, texts.Draw(t, "word"))
			}
			if len(e.undo) < steps { // undone
				states = states[:len(e.undo)]
				if e.Text() != "" && len(e.undo) == 0 {
					t.Fatalf("all is undone, but %q is left", e.Text())
				}
			}
			for i := len(states); i < len(e.undo); i++ { // a key that ends a search can be two steps
				if states = append(states, before); i > steps {
					states[i] = unknown
				}
			}
			if e.cursor < 0 || e.cursor > len(e.text) {
				t.Fatalf("cursor %d of %d", e.cursor, len(e.text))
			}
			for i := range e.text {
				if e.text[i].width < 1 && !e.text[i].isNewline() {
					t.Fatalf("%q has no width", e.text[i].text)
				}
			}
			if !utf8.ValidString(e.Text()) || !slices.Equal(segment(e.text), e.text) {
				t.Fatalf("not in clusters: %q", e.Text())
			}
			checkView(t, e, rapid.IntRange(-1, 40).Draw(t, "width"))
		}
		e.Press(Key{Code: 'g', Ctrl: true}) // ends a search
		final, steps := e.Text(), len(e.undo)
		for len(e.undo) > 0 {
			e.Undo()
			if want := states[len(e.undo)]; want != unknown && e.Text() != want {
				t.Fatalf("undone to %q, want %q", e.Text(), states[len(e.undo)])
			}
		}
		if e.Text() != "" || e.cursor != 0 {
			t.Fatalf("left after undo: %q", e.Text())
		}
		for len(e.undo) < steps {
			e.Redo()
		}
		if e.Text() != final {
			t.Fatalf("done again: %q, want %q", e.Text(), final)
		}
	})
}

func checkView(t *rapid.T, e *Editor, width int) {
	rows, row, col := e.View(width)
	width = max(width, minWidth)
	if row < 0 || row >= len(rows) || col < 0 || col >= width {
		t.Fatalf("cursor %d, %d in %q of width %d", row, col, rows, width)
	}
	if l := layOut(e.text, width); e.search == nil && len(e.text) > 0 {
		for i, at := range l.at[:len(e.text)] {
			if c := e.text[i]; l.at[i+1].row > at.row && at.col+c.width < width && ansi.StringWidth(rows[at.row]) != at.col+c.width {
				t.Fatalf("%q has %d columns, not %d", rows[at.row], ansi.StringWidth(rows[at.row]), at.col+c.width)
			}
		}
	}
	for _, r := range rows {
		if n := ansi.StringWidth(r); n > width-1 {
			t.Fatalf("%q has %d columns of %d", r, n, width)
		}
		if strings.ContainsFunc(r, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) {
			t.Fatalf("not escaped: %q", r)
		}
	}
}

// A cleared text can be brought back, also in the normal mode of vi.
func TestClear(t *testing.T) {
	for _, vi := range []bool{false, true} {
		e := New(nil)
		e.SetVi(vi)
		press(e, "one two")
		if vi {
			press(e, "<esc>")
		}
		e.Clear()
		if e.Text() != "" || vi && e.Mode() != "insert" {
			t.Errorf("vi %v: %q, mode %s", vi, e.Text(), e.Mode())
		}
		if e.Undo(); e.Text() != "one two" {
			t.Errorf("vi %v: %q", vi, e.Text())
		}
	}
}
