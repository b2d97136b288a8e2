package term

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// colorsOf is code that asks for a color with keys, and for a reason with a line.
func colorsOf(ctx context.Context, key *byte, line *string, failed *error) func(*Prompter) {
	return func(p *Prompter) {
		p.Out.Line("")
		p.ShowQuestion(func() { p.Out.PrintIndented("which  ", 7, "color do you want to have", p.Out.Bold) })
		p.Flush()
		p.ShowKeys(Key{"1-3", "choose one of the colors"}, Key{"n", "none of them"})
		if *key, _, *failed = p.Key(ctx); *failed != nil {
			return
		}
		p.Echo("chosen")
		p.Out.Line("now the reason")
		if *line, _, *failed = p.Prompt(ctx, "because: "); *failed != nil {
			return
		}
		p.Out.Line("thanks")
	}
}

func TestDialog(t *testing.T) {
	var (
		key    byte
		line   string
		failed error
	)
	d := NewDialog(Style{Width: 80}, colorsOf(t.Context(), &key, &line, &failed))
	view := func(width int) string {
		lines, prompt := d.View(width)
		return strings.Join(lines, "\n") + "\n--\n" + strings.Join(prompt, "\n")
	}
	if d.Needs() != NeedsKey || d.Questions() != 1 {
		t.Errorf("needs %v after %d questions", d.Needs(), d.Questions())
	}
	if got, want := view(80), "which  color do you want to have\n--\n1-3 choose one of the colors · n none of them: "; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := view(30), "which  color do you want to\n       have\n--\n1-3 choose one of the colors\nn none of them: "; got != want { // laid out again
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, other := range []string{"", "0", "4", "N", "1-3", "-", "nn", "\x1b"} {
		if d.Feed(other) {
			t.Errorf("the key %q is not offered", other)
		}
	}
	if !d.Feed("2") || d.Needs() != NeedsLine || key != '2' {
		t.Errorf("needs %v, key %q", d.Needs(), key)
	}
	if got, want := view(80), "which  color do you want to have\n› chosen\nnow the reason\n--\nbecause: "; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !d.Feed("it is \x1b[2J blue") || d.Needs() != Ended || line != "it is \x1b[2J blue" || failed != nil {
		t.Errorf("needs %v, line %q, error %v", d.Needs(), line, failed)
	}
	if got, want := view(80), "which  color do you want to have\n› chosen\nnow the reason\nbecause: it is \\x1b[2J blue\nthanks\n--\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if d.Feed("1") {
		t.Error("it has ended")
	}
	d.Close()
}

// A new question replaces the last one and what was said about it.
func TestDialogOfQuestions(t *testing.T) {
	d := NewDialog(Style{Width: 80}, func(p *Prompter) {
		p.Out.Line("two questions")
		for _, q := range []string{"first", "second"} {
			p.ShowQuestion(func() { p.Out.Line("%s", q) })
			p.ShowKeys(Key{"y", "yes"})
			_, _, _ = p.Key(t.Context())
			p.Echo("yes")
		}
	})
	defer d.Close()
	d.Feed("y")
	if lines, prompt := d.View(80); d.Questions() != 2 || !slices.Equal(lines, []string{"two questions", "second"}) || !slices.Equal(prompt, []string{"y yes: "}) {
		t.Errorf("%d: %q, %q", d.Questions(), lines, prompt)
	}
}

// Close ends the code wherever it waits, also code that asks again.
func TestDialogClosed(t *testing.T) {
	var errs []error
	d := NewDialog(Style{}, func(p *Prompter) {
		for range 3 {
			_, _, err := p.Key(t.Context())
			errs = append(errs, err)
			_, err = p.Yes(t.Context(), "sure?")
			errs = append(errs, err)
		}
	})
	d.Close()
	for _, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if len(errs) != 6 || d.Needs() == NeedsLine {
		t.Errorf("%d errors", len(errs))
	}
}
