package term

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "plain": 5, "größe": 5, "日本": 4, "e\u0301": 1, "👩‍👩‍👧": 2, "a\u200bb": 2,
	} {
		if got := Width(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

// A column has exactly its width, and a clipped text at most.
func TestColumnWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := Escape(strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", " ", "日", "é", "e\u0301", "👩‍👩‍👧", "x"})).Draw(t, "text"), ""))
		n := rapid.IntRange(1, 20).Draw(t, "columns")
		if got := Width(Column(text, n)); got != n {
			t.Fatalf("a column of %d has %d", n, got)
		}
	})
}
