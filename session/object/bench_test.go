package object_test

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/aws/credentials"
	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
	"github.com/holdfast-dev/holdfast/internal/s3"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
)

var words = strings.Repeat("w", 1300)

// BenchmarkBare writes the bytes of a batch with one PutObject.
func BenchmarkBare(b *testing.B) {
	place := newURL(b)
	u, err := url.Parse(place)
	if err != nil {
		b.Fatal(err)
	}
	e, err := url.Parse(u.Query().Get("endpoint"))
	if err != nil {
		b.Fatal(err)
	}
	secret, _ := u.User.Password()
	c, err := s3.New(s3.Options{
		Bucket: u.Host, Endpoint: e.String(), Keys: credentials.Static(sigv4.Keys{ID: u.User.Username(), Secret: secret}),
	})
	if err != nil {
		b.Fatal(err)
	}
	open(b, place, nil) // so that what is written is removed
	a := &author{id: "s"}
	body := object.AppendRecords(nil, []session.Record{a.turn(words)})
	b.SetBytes(int64(len(body)))
	log := u.Path[1:] + "/bench-" + rand.Text()
	for n := 0; b.Loop(); n++ {
		key := fmt.Sprintf("%s/%012d", log, n)
		if _, err := c.Put(b.Context(), key, "application/jsonl", body, s3.IfNone); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend appends a record of the same size.
func BenchmarkAppend(b *testing.B) {
	for name, fold := range map[string]int{"never folded": -1, "folded": 0} {
		b.Run(name, func(b *testing.B) {
			s := open(b, newURL(b), &object.Options{FoldSlots: fold})
			a := begin(b, s, "s", 0)
			b.ResetTimer()
			for b.Loop() {
				a.append(b, s, words)
			}
		})
	}
}

// BenchmarkTail reads the last 50 records of a session.
func BenchmarkTail(b *testing.B) {
	s := open(b, newURL(b), nil)
	a := begin(b, s, "s", 0)
	for range 30 {
		records := make([]session.Record, 1000)
		for i := range records {
			records[i] = a.turn(words)
		}
		if err := s.Append(ctx, "s", a.batch(records...)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Fold("s"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n := 0
		for _, err := range s.Read(ctx, "s", session.Range{Reverse: true, Limit: 50}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 50 {
			b.Fatal(n)
		}
	}
}

// BenchmarkList lists the newest 50 of some sessions of which one has changed.
func BenchmarkList(b *testing.B) {
	s := open(b, newURL(b), nil)
	var a *author
	for i := range 200 {
		a = begin(b, s, fmt.Sprintf("s-%d", i), 0)
	}
	for b.Loop() {
		a.append(b, s, "x")
		p, err := s.List(ctx, session.Query{Limit: 50})
		if err != nil || len(p.Sessions) != 50 {
			b.Fatal(err)
		}
	}
}
