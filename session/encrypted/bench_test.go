package encrypted

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// BenchmarkSeal seals and opens an item of 1.5 KB.
func BenchmarkSeal(b *testing.B) {
	k := newDataKey()
	s, err := New(b.Context(), memory.New(), newKey(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	it := transcript.UserText(strings.Repeat("text ", 300))
	it.ID = "item"
	r := session.Record{Seq: 2, ID: "r", Kind: session.KindItem, Payload: session.ItemDraft(it.MustEncode(), false, nil).Payload}
	r.Seal(session.Digest{})
	box, err := k.sealer("s")
	if err != nil {
		b.Fatal(err)
	}
	sealed, err := k.record(box, "s", r)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("seal", func(b *testing.B) {
		b.SetBytes(int64(len(r.Payload)))
		for b.Loop() {
			if _, err := k.record(box, "s", r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		b.SetBytes(int64(len(r.Payload)))
		o := recordOpener{s: s, ctx: b.Context(), id: "s", sealer: box}
		for b.Loop() {
			r := sealed
			if err := o.open(&r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkList lists the newest 50 of 2,000 sessions, of all and of one project.
func BenchmarkList(b *testing.B) {
	s, err := New(b.Context(), memory.New(), newKey(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 2000 {
		write(b, s, fmt.Sprint("s", i), fmt.Sprint("p", i%20))
	}
	for _, project := range []string{"", "p7"} {
		b.Run("project="+project, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.List(b.Context(), session.Query{Project: project, Limit: 50}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
