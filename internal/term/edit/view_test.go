package edit

import (
	"context"
	"slices"
	"strings"
	"testing"
)

func TestView(t *testing.T) {
	for _, tt := range []struct {
		keys     string
		width    int
		rows     []string
		row, col int
	}{
		{"", 20, []string{"Ask anything"}, 0, 0},
		{"", 6, []string{"Ask a", "nythi", "ng"}, 0, 0},
		{"hello", 20, []string{"hello"}, 0, 5},
		{"hello", 6, []string{"hello"}, 0, 5},
		{"hello!", 6, []string{"hello", "!"}, 1, 1},
		{"hello!<left>", 6, []string{"hello", "!"}, 1, 0},
		{"hello<ctrl+j>", 6, []string{"hello", ""}, 1, 0},
		{"日本語", 6, []string{"日本", "語"}, 1, 2},
		{"日本語<left><left>", 6, []string{"日本", "語"}, 0, 2},
		{"ab" + family + "c", 4, []string{"ab", family + "c"}, 1, 3},
		{accent + accent + accent + "x", 4, []string{accent + accent + accent, "x"}, 1, 1},
		{hebrew + "!", 20, []string{hebrew + "!"}, 0, 5},
		{"\u0301a", 20, []string{"\u25cc\u0301a"}, 0, 2},
		{"a\u202eb", 20, []string{`a\u202eb`}, 0, 8},
		{"a\x1b[2Jb", 20, []string{`a\x1b[2Jb`}, 0, 9},
		{"a<paste>\t</paste>b", 20, []string{"a    b"}, 0, 6},
		{"a<paste>" + fiveRow + "</paste>b", 40, []string{"a[pasted 5 lines]b"}, 0, 18},
		{"a<paste>" + fiveRow + "</paste>b", 18, []string{"a[pasted 5 lines]", "b"}, 1, 1},
		{"a<paste>" + fiveRow + "</paste>b", 11, []string{"a", "[pasted 5 ", "lines]b"}, 2, 7},
		{"a<paste>" + fiveRow + "</paste>b<left><up>", 11, []string{"a", "[pasted 5 ", "lines]b"}, 1, 0},
	} {
		e := New(&Options{Placeholder: "Ask anything"})
		e.View(tt.width)
		press(e, tt.keys)
		rows, row, col := e.View(tt.width)
		if !slices.Equal(rows, tt.rows) || row != tt.row || col != tt.col {
			t.Errorf("%q at %d: %q, %d, %d; want %q, %d, %d", tt.keys, tt.width, rows, row, col, tt.rows, tt.row, tt.col)
		}
	}
}

// Up and down move by rows of the screen, and return to their column.
func TestVertical(t *testing.T) {
	for keys, want := range map[string]string{
		"0123456789abcde<up>":                           "0123|456789abcde", // rows of 11 and 4 characters
		"0123456789abcde<up><down>":                     "0123456789abcde|",
		"abcdef<ctrl+j>x<ctrl+j>abcdef<up><up>":         "abcdef|\nx\nabcdef",
		"abcdef<ctrl+j>x<ctrl+j>abcdef<up><left>":       "abcdef\n|x\nabcdef",
		"日本語<ctrl+j>abc<up>":                            "日|本語\nabc",
		"abcdef<ctrl+j>x<ctrl+j>abcdef<up><ctrl+e><up>": "a|bcdef\nx\nabcdef",
	} {
		e := New(nil)
		e.View(12)
		press(e, keys)
		if got := shown(e); got != want {
			t.Errorf("%q: %q, want %q", keys, got, want)
		}
	}
}

func TestRecall(t *testing.T) {
	for keys, want := range map[string]string{
		"<up>":                     "three\nlines\nhere|",
		"<up><up><up><up>":         "see [pasted 5 lines]|",
		"<up><up><up><up><up><up>": "one|",
		"draft<up><down>":          "draft|",
		"draft<up><up><up><up><up><down><down><down>": "draft|",
		"<down>":                               "|",
		"draft<up><ctrl+_>":                    "draft|",
		"<up>x<ctrl+_><ctrl+_>":                "|",
		"a<ctrl+j>b<up>":                       "a|\nb",
		"a<ctrl+j>b<up><up>":                   "three\nlines\nhere|",
		"<up><ctrl+p><ctrl+p><ctrl+p><ctrl+n>": "three\nlines\nhere|",

		// search
		"draft<ctrl+r>":                          "draft|",
		"<ctrl+r>one<esc>":                       "one|",
		"<ctrl+r>ONE<esc>":                       "|",
		"<ctrl+r>e<esc>":                         "three\nlines\nhere|",
		"<ctrl+r>e<ctrl+r><esc>":                 "see [pasted 5 lines]|",
		"<ctrl+r>e<ctrl+r><ctrl+r><tab>":         "one|",
		"<ctrl+r>e<ctrl+r><ctrl+r><ctrl+r><esc>": "one|",
		"<ctrl+r>e<ctrl+r><ctrl+s><esc>":         "three\nlines\nhere|",
		"<ctrl+r>onx<backspace><esc>":            "one|",
		"draft<ctrl+r>one<ctrl+g>":               "draft|",
		"draft<ctrl+r>one<ctrl+c>":               "draft|",
		"draft<ctrl+r>one<home>x":                "x|one",
		"draft<ctrl+r>one<enter>":                "one|",
		"draft<ctrl+r>none<enter><esc>":          "draft|",
		"draft<ctrl+r>one<esc><ctrl+_>":          "draft|",
		"draft<ctrl+r>one<esc><down><down>":      "three\nlines\nhere|",
		"<ctrl+r><paste>one\nx</paste><esc>":     "one|",
		"<ctrl+r>lines<esc>":                     "three\nlines\nhere|",
	} {
		e := New(&Options{History: filled(t)})
		press(e, keys)
		if got := shown(e); got != want {
			t.Errorf("%q: %q, want %q", keys, got, want)
		}
	}
}

// The search is the last row of the view, with the cursor in it.
func TestSearchView(t *testing.T) {
	for keys, want := range map[string]string{
		"draft<ctrl+r>":       "draft/search history: |",
		"draft<ctrl+r>see":    "see [pasted 5 lines]/search history: see|",
		"draft<ctrl+r>se\x1b": "draft/search history, no match: se\\x1b|",
		"<ctrl+r>lines":       "see [pasted 5 lines]/search history: lines|",
	} {
		h, err := OpenHistory("", nil)
		if err != nil {
			t.Fatal(err)
		}
		e := New(&Options{History: h})
		press(e, "see <paste>"+strings.ReplaceAll(fiveRow, "5", "lines")+"</paste>")
		if err := h.Add(t.Context(), e.Take()); err != nil {
			t.Fatal(err)
		}
		press(e, keys)
		if e.Empty() {
			t.Error("it is empty during a search")
		}
		rows, row, col := e.View(60)
		rows[row] = rows[row][:col] + "|" + rows[row][col:]
		if got := strings.Join(rows, "/"); got != want {
			t.Errorf("%q: %q, want %q", keys, got, want)
		}
	}
}

// filled returns a history of "one", a paste, and a text of three lines.
func filled(t testing.TB) *History {
	t.Helper()
	h, err := OpenHistory("", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := New(nil)
	for _, keys := range []string{"one", "see <paste>" + fiveRow + "</paste>", "three<ctrl+j>lines<ctrl+j>here"} {
		press(e, keys)
		if err := h.Add(context.Background(), e.Take()); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// A key and the view after it, in a text of 10,000 characters.
func BenchmarkKey(b *testing.B) {
	for name, text := range map[string]string{
		"one line": strings.Repeat("word ", 2000),
		"lines":    strings.Repeat(strings.Repeat("word ", 16)+"\n", 125),
		"wide":     strings.Repeat("日本語 ", 2500),
	} {
		b.Run(name, func(b *testing.B) {
			e := New(nil)
			e.Set(Entry{Text: text})
			for b.Loop() {
				e.Press(Key{Text: "x"})
				e.View(80)
				e.Press(Key{Name: "backspace"})
				e.View(80)
				e.undo = e.undo[:0]
			}
		})
	}
}
