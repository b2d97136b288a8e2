package shortid

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name       string
		ids, words []string
		want       map[string]string
	}{
		{"none", nil, nil, map[string]string{}},
		{"one", []string{"9375988f"}, nil, map[string]string{"9375988f": "9375"}},
		{"shorter than the minimum", []string{"ab"}, nil, map[string]string{"ab": "ab"}},
		{"neighbors", []string{"abcdef1", "abcdef2"}, nil, map[string]string{"abcdef1": "abcdef1", "abcdef2": "abcdef2"}},
		{"a prefix of another", []string{"here", "here2"}, nil, map[string]string{"here": "here", "here2": "here2"}},
		{"a title", []string{"testing"}, []string{"test"}, map[string]string{"testing": "testi"}},
		{"between characters", []string{"abcé1", "abcé2"}, nil, map[string]string{"abcé1": "abcé1", "abcé2": "abcé2"}},
		{"times", []string{"run_01m8j190595d", "run_01m8j190599f"}, nil, map[string]string{"run_01m8j190595d": "595d", "run_01m8j190599f": "599f"}},
		{"twice", []string{"abcdef", "abcdef"}, nil, map[string]string{"abcdef": "abcd"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Of(tt.ids, tt.words)
			if len(got) != len(tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
			for id, want := range tt.want {
				if got[id] != want {
					t.Errorf("%s becomes %q, want %q", id, got[id], want)
				}
			}
		})
	}
}

// A short id leads back to its id, by the rules of a lookup: the id, a word, a unique prefix.
func TestFoundAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`(aaaaaaaa)?[ab]{1,8}`)
		ids, words := rapid.SliceOfDistinct(word, rapid.ID).Draw(t, "ids"), rapid.SliceOf(word).Draw(t, "words")
		for id, short := range Of(ids, words) {
			found := Find(ids, func(id string) string { return id }, short)
			if short != id && (slices.Contains(ids, short) || slices.Contains(words, short) || len(found) != 1 || found[0] != id) {
				t.Fatalf("%s becomes %s, which finds %v", id, short, found)
			}
		}
	})
}
