package sqlite_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// However the rows of several sessions are mixed, and whatever is missing or damaged, every
// range reads the same.
func TestReadAnyRowOrder(t *testing.T) {
	const none, missing, damaged = "", "DELETE FROM records", "UPDATE records SET chain = x'00'"
	turns := func(a, b *author, mine, others int) {
		for a.head+int64(mine) <= 600 {
			fill(a, mine)
			fill(b, others)
		}
		fill(a, int(600-a.head))
	}
	layouts := map[string]func(a, b *author){
		"together":  func(a, _ *author) { fill(a, 599) },
		"in turns":  func(a, b *author) { turns(a, b, 3, 2) },
		"sparse":    func(a, b *author) { turns(a, b, 5, 25) },
		"in bursts": func(a, b *author) { turns(a, b, 100, 700) },
		"with holes": func(a, b *author) {
			turns(a, b, 3, 2)
			if err := b.store.Delete(ctx, b.id); err != nil {
				t.Fatal(err)
			}
		},
	}
	ranges := []session.Range{
		{}, {Limit: 300}, {After: 99, Until: 101}, {After: 250, Limit: 7}, {After: 300}, {After: 599}, {After: 100, Until: 500},
	}
	for name, lay := range layouts {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			a, b := create(t, s, "a"), create(t, s, "b")
			a.t, b.t = t, t
			lay(a, b)
			lost := map[int64]string{}
			for _, spoil := range []struct {
				sql  string
				seqs string
			}{{none, "0"}, {damaged, "1, 100, 256, 257, 600"}, {missing, "2, 101, 255, 258, 300, 301, 599"}} {
				if spoil.sql != none {
					raw(t, s.Path(), spoil.sql+" WHERE key >> 32 = (SELECT num FROM sessions WHERE id = 'a') AND key & 0xffffffff IN ("+spoil.seqs+")")
					for _, seq := range parseSeqs(t, spoil.seqs) {
						lost[seq] = spoil.sql
					}
				}
				for _, r := range ranges {
					for _, r.Reverse = range []bool{false, true} {
						var wantGood, wantBad []int64
						for _, seq := range within(r, 600) {
							if r.Limit > 0 && len(wantGood)+len(wantBad) == r.Limit {
								break
							}
							switch lost[seq] {
							case none:
								wantGood = append(wantGood, seq)
							case damaged:
								wantBad = append(wantBad, seq)
							}
						}
						good, bad := readAll(t, s, r)
						if !slices.Equal(good, wantGood) || !slices.Equal(bad, wantBad) {
							t.Errorf("%+v: %d good and bad are %v, want %d and %v", r, len(good), bad, len(wantGood), wantBad)
						}
					}
				}
			}
		})
	}
}

// within lists the seqs of a range in a log of n records, without its limit.
func within(r session.Range, n int64) (out []int64) {
	for seq := r.After + 1; seq <= n && (r.Until == 0 || seq <= r.Until); seq++ {
		out = append(out, seq)
	}
	if r.Reverse {
		slices.Reverse(out)
	}
	return out
}

func parseSeqs(t *testing.T, list string) (out []int64) {
	t.Helper()
	for f := range strings.SplitSeq(list, ", ") {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}
