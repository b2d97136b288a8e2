package redis

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

func sample(payload json.RawMessage) session.Record {
	r := session.Record{Seq: 1<<53 - 1, ID: "01J", Kind: session.KindItem, Payload: payload, Time: time.UnixMilli(-5)}
	r.Seal(session.Digest(sha256.Sum256([]byte("before"))))
	return r
}

func TestRecordKeepsBytes(t *testing.T) {
	for _, r := range []session.Record{
		sample(json.RawMessage(`{"n":9007199254740993,"a":1,"a":2,"f":1.10}`)),
		sample(json.RawMessage("{}\x00\xff")),
		sample(json.RawMessage{}),
		sample(nil),
		{Seq: 1, ID: strings.Repeat("x", math.MaxUint16), Kind: session.Kind(strings.Repeat("k", math.MaxUint8)), Time: time.UnixMilli(0).UTC(), Payload: json.RawMessage("{}")},
	} {
		b, err := packRecord(&r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpackRecord(string(b))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%v: got %+v, want %+v", err, got, r)
		}
	}
}

func TestRecordTooLarge(t *testing.T) {
	for _, r := range []session.Record{
		{ID: strings.Repeat("x", math.MaxUint16+1)},
		{Kind: session.Kind(strings.Repeat("x", math.MaxUint8+1))},
	} {
		if _, err := packRecord(&r); err == nil {
			t.Errorf("an id of %d and a kind of %d bytes fit", len(r.ID), len(r.Kind))
		}
	}
}

func FuzzUnpackRecord(f *testing.F) {
	for _, payload := range []json.RawMessage{nil, json.RawMessage(`{"a":1}`)} {
		r := sample(payload)
		b, _ := packRecord(&r)
		f.Add(string(b))
		f.Add(string(b[:recordFront+1]))
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := unpackRecord(s)
		if err != nil {
			return
		}
		b, err := packRecord(&r)
		if err != nil || !bytes.Equal(b, []byte(s)) {
			t.Errorf("%q is read as %+v and written as %q (%v)", s, r, b, err)
		}
	})
}

func TestMembersSortedByTime(t *testing.T) {
	last := ""
	for _, ns := range []int64{math.MinInt64, -1, 0, 1, 1 << 60, math.MaxInt64} {
		now := memberTime(time.Unix(0, ns))
		if now <= last || len(now) != 16 {
			t.Errorf("%d is %q after %q", ns, now, last)
		}
		last = now
	}
}
