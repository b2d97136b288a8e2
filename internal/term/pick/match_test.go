package pick

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bestScore tries all places of all characters.
func bestScore(e *entry, w *word, j, from, before int) int32 {
	best := int32(math.MinInt32)
	if j == len(w.chars) {
		return 0
	}
	text := w.text(e)
	for i := from; i < len(text); i++ {
		if !strings.HasPrefix(text[i:], w.chars[j]) {
			continue
		}
		rest := bestScore(e, w, j+1, i+len(w.chars[j]), i+len(w.chars[j]))
		if rest == math.MinInt32 {
			continue
		}
		score := e.points(i) + rest
		switch {
		case before < 0:
		case before == i:
			score += follows
		default:
			score -= int32(i - before)
		}
		best = max(best, score)
	}
	return best
}

// match finds the best of all matches, its places are those of the score, and the estimate is one of
// the matches.
func TestBestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newEntry(rapid.StringMatching(`[abAB/_ é日]{0,14}`).Draw(t, "text"))
		ws := words(rapid.StringMatching(`[abB/é日]{1,4}`).Draw(t, "query"))
		var m matcher
		want := bestScore(&e, &ws[0], 0, 0, -1)
		got, ok := m.match(&e, &ws[0])
		if ok != (want != math.MinInt32) || ok && got != int(want) {
			t.Fatalf("%d, %v, want %d", got, ok, want)
		}
		guess, guessed := m.estimate(&e, &ws[0])
		if guessed != ok || ok && guess > got {
			t.Fatalf("estimate %d, %v, best %d, %v", guess, guessed, got, ok)
		}
		at := -1
		places := m.places(&e, &ws[0])
		for k := len(places) - 1; k >= 0; k-- { // the last one is first
			h := places[k]
			if int(h.at) <= at || ws[0].text(&e)[h.at:h.end] != ws[0].chars[len(places)-1-k] {
				t.Fatalf("places %v", places)
			}
			at = int(h.at)
		}
		if ok && len(places) != len(ws[0].chars) {
			t.Fatalf("places %v", places)
		}
	})
}
