package pick

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

func items(texts ...string) (out []Item) {
	for _, t := range texts {
		out = append(out, Item{Text: t})
	}
	return out
}

func texts(p *Picker) (out []string) {
	for _, it := range p.Matches() {
		out = append(out, it.Text)
	}
	return out
}

func typed(p *Picker, text string) (r Result) {
	for _, c := range text {
		r = p.Press(edit.Key{Code: c, Text: string(c)})
	}
	return r
}

func key(name string) edit.Key { return edit.Key{Name: name} }

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		query string
		items []string
		want  []string
	}{
		{"", []string{"b", "a"}, []string{"b", "a"}},
		{"x", []string{"b", "a"}, nil},
		{"main", []string{"cmd/main/x.go", "domain.go", "a/b/main.go", "mxaxixn"}, []string{"a/b/main.go", "cmd/main/x.go", "domain.go", "mxaxixn"}},
		{"fb", []string{"xfxb", "afb", "foo_bar", "fooBar"}, []string{"foo_bar", "fooBar", "afb", "xfxb"}},
		{"scb", []string{"src/components/Button.tsx", "src/button.css"}, []string{"src/button.css", "src/components/Button.tsx"}},
		{"readme", []string{"docs/readme/other.md", "README.md", "a/very/deep/README.md"}, []string{"README.md", "a/very/deep/README.md", "docs/readme/other.md"}},
		{"README", []string{"readme.md", "README.md"}, []string{"README.md"}},
		{"Éa", []string{"éa", "Éa"}, []string{"Éa"}},
		{"éa", []string{"éa", "Éa", "eA"}, []string{"éa", "Éa"}},
		{"日語", []string{"日本", "日本語", "語日"}, []string{"日本語"}},
		{"go test", []string{"test go", "go", "go test", "testing.go"}, []string{"test go", "go test", "testing.go"}},
		{"opus", []string{"anthropic/claude-haiku", "anthropic/claude-opus-4-8", "openai/opaque-us"}, []string{"anthropic/claude-opus-4-8", "openai/opaque-us"}},
		{"cli/", []string{"internal/cli/", "client", "internal/cli/run/"}, []string{"internal/cli/", "internal/cli/run/"}},
		{"a\xffb", []string{"a\xffb", "ab"}, nil},
	} {
		p := New(&Options{Items: items(tt.items...)})
		p.Filter(tt.query)
		if got := texts(p); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.query, got, tt.want)
		}
	}
}

func TestKeys(t *testing.T) {
	p := New(&Options{Items: items("alpha", "beta", "gamma")})
	selected := func(want string) {
		t.Helper()
		if it, _ := p.Selected(); it.Text != want {
			t.Errorf("%q is selected, want %q", it.Text, want)
		}
	}
	for _, step := range []struct{ key, want string }{
		{"down", "beta"}, {"tab", "gamma"}, {"down", "alpha"}, {"up", "gamma"}, {"home", "gamma"}, {"pgup", "beta"}, {"pgdown", "gamma"},
	} {
		if r := p.Press(key(step.key)); r != Handled {
			t.Errorf("%s: %v", step.key, r)
		}
		selected(step.want)
	}
	typed(p, "a")
	selected("alpha")
	typed(p, "zz")
	if it, ok := p.Selected(); ok || p.Press(key("enter")) != Handled {
		t.Errorf("%v is selected, though nothing matches", it)
	}
	p.Press(edit.Key{Code: 'u', Ctrl: true})
	selected("alpha")
	p.Paste("be\nta")
	if got := p.box.Text(); got != "be ta" {
		t.Errorf("pasted %q", got)
	}
	selected("beta")
	if p.Press(key("enter")) != Chosen || p.Press(key("esc")) != Cancelled || p.Press(edit.Key{Code: 'c', Ctrl: true}) != Cancelled || p.Press(key("f1")) != Ignored {
		t.Error("wrong result of a key")
	}
}

func TestSetKeepsSelection(t *testing.T) {
	p := New(&Options{Items: items("ab", "ac")})
	typed(p, "a")
	p.Press(key("down"))
	p.Set(items("a", "ab", "aa", "ac", "b"))
	if it, _ := p.Selected(); it.Text != "ac" {
		t.Errorf("%q is selected", it.Text)
	}
	p.Set(items("a"))
	if it, _ := p.Selected(); it.Text != "a" {
		t.Errorf("%q is selected", it.Text)
	}
	p.Set(nil)
	if it, ok := p.Selected(); ok {
		t.Errorf("%q is selected", it.Text)
	}
}

func TestCompact(t *testing.T) {
	var many []Item
	for i := range 20 {
		many = append(many, Item{Text: fmt.Sprintf("/command%d", i), Detail: "what it does"})
	}
	p := New(&Options{Items: many, Compact: true})
	p.Filter("/c")
	lines, row, _ := p.View(60, 20)
	if len(lines) != 8 || row != -1 {
		t.Errorf("%d rows, cursor in row %d", len(lines), row)
	}
	if p.Press(edit.Key{Code: 'a', Text: "a"}) != Ignored || p.Press(edit.Key{Name: "enter", Alt: true}) != Ignored || p.Press(key("tab")) != Chosen {
		t.Error("wrong result of a key")
	}
	p.Filter("/command13")
	if it, _ := p.Selected(); it.Text != "/command13" {
		t.Errorf("%q is selected", it.Text)
	}
	p.Filter("/zzz")
	if p.Press(key("enter")) != Ignored || p.Press(key("up")) != Ignored || p.Press(key("esc")) != Cancelled {
		t.Error("an empty list takes keys of the input box")
	}
}

func TestView(t *testing.T) {
	all := []Item{
		{Text: "internal/cli/run/run.go", Preview: func(int, int) []string { return []string{"package run", strings.Repeat("x", 200)} }},
		{Text: "日本語のファイル.txt", Detail: "wide"},
		{Text: "evil\x1b]0;x\x07\nname", Detail: "\u202eright"},
		{Text: strings.Repeat("deep/", 30) + "end.go"},
	}
	p := New(&Options{Title: "Files", Items: all})
	check := func(width, height int, want string) {
		t.Helper()
		lines, row, col := p.View(width, height)
		got := ansi.Strip(strings.Join(lines, "\n"))
		for i, l := range lines {
			lines[i] = strings.TrimRight(ansi.Strip(l), " ")
		}
		got = strings.Join(lines, "\n")
		if got != want {
			t.Errorf("%d×%d:\n%s\nwant:\n%s", width, height, got, want)
		}
		if row != 1 || col != 2+len(p.box.Text()) {
			t.Errorf("the cursor is at %d, %d", row, col)
		}
	}
	check(40, 6, `Files                                4/4
>
❯ internal/cli/run/run.go
  日本語のファイル.txt   wide
  evil\x1b]0;x\x07 name  \u202eright
  …/deep/deep/deep/deep/deep/deep/end.go`)
	check(100, 6, `Files                                                                                            4/4
>
❯ internal/cli/run/run.go               │ package run
  日本語のファイル.txt   wide           │ `+strings.Repeat("x", 57)+`…
  evil\x1b]0;x\x07 name  \u202eright    │
  …/deep/deep/deep/deep/deep/deep/end.go│`)
	typed(p, "go")
	check(40, 20, `Files                                2/4
> go
❯ internal/cli/run/run.go
  …/deep/deep/deep/deep/deep/deep/end.go


`+strings.Repeat("─", 40)+`
package run
`+strings.Repeat("x", 39)+`…`)
	lines, _, _ := p.View(40, 6)
	if want := "\x1b[1;36m❯\x1b[m \x1b[m\x1b[1minternal/cli/run/run.\x1b[m\x1b[1m\x1b[36mgo\x1b[m"; lines[2] != want {
		t.Errorf("%q, want %q", lines[2], want)
	}
}

// Whatever the items, the keys and the size are, the view fits, is safe, and contains the selected item.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.OneOf(rapid.StringN(0, 20, 60), rapid.StringMatching(`[a-c/_A-C]{0,12}`)), 0, 20)
		p := New(&Options{Items: items(some.Draw(t, "items")...), Compact: rapid.Bool().Draw(t, "compact")})
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				p.Set(items(some.Draw(t, "new")...))
			case 1:
				p.Press(key(rapid.SampledFrom([]string{"up", "down", "tab", "pgup", "pgdown", "home", "backspace", "enter"}).Draw(t, "key")))
			case 2:
				typed(p, rapid.StringMatching(`[a-cA-C/ ]`).Draw(t, "typed"))
			case 3:
				p.Paste(rapid.String().Draw(t, "paste"))
			case 4:
				p.Filter(rapid.StringMatching(`[a-c/ ]{0,3}`).Draw(t, "filter"))
			}
			width, height := rapid.IntRange(10, 120).Draw(t, "width"), rapid.IntRange(1, 30).Draw(t, "height")
			lines, row, col := p.View(width, height)
			if len(lines) > height || row >= len(lines) || col > width {
				t.Fatalf("%d lines in %d×%d, cursor at %d, %d", len(lines), width, height, row, col)
			}
			for _, l := range lines {
				if ansi.StringWidth(l) > width {
					t.Fatalf("%q is wider than %d", l, width)
				}
				if plain := ansi.Strip(l); strings.ContainsFunc(plain, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }) {
					t.Fatalf("%q has control characters", plain)
				}
			}
			again := New(&Options{Items: p.items})
			again.Filter(p.query)
			if !slices.Equal(texts(again), texts(p)) {
				t.Fatalf("after %q: %q, anew: %q", p.query, texts(p), texts(again))
			}
		}
	})
}

// paths returns paths as in a large project.
func paths(n int) (out []Item) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := strings.Fields("src internal cli kernel drivers net session components button model test scheduler file main config util render view handler server client")
	for range n {
		var b strings.Builder
		for range 2 + r.IntN(4) {
			b.WriteString(parts[r.IntN(len(parts))] + "/")
		}
		fmt.Fprintf(&b, "%s_%s%d.go", parts[r.IntN(len(parts))], parts[r.IntN(len(parts))], r.IntN(100))
		out = append(out, Item{Text: b.String()})
	}
	return out
}

// BenchmarkKey reports the slowest key of a query, in its fastest run.
func BenchmarkKey(b *testing.B) {
	p := New(&Options{Items: paths(50_000)})
	for _, query := range []string{"s", "src", "sessionmain", "schedview", "internal/cli/run", "Xyz", "render view"} {
		b.Run(query, func(b *testing.B) {
			fastest := make([]time.Duration, len(query))
			for b.Loop() {
				for i := range query {
					start := time.Now()
					p.Filter(query[:i+1])
					p.View(80, 24)
					if took := time.Since(start); fastest[i] == 0 || took < fastest[i] {
						fastest[i] = took
					}
				}
				p.Filter("")
			}
			b.ReportMetric(float64(slices.Max(fastest).Microseconds()), "us-slowest-key")
		})
	}
}
