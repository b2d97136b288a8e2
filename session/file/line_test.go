package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

func sealed(r session.Record) session.Record {
	r.Seal(session.Digest(sha256.Sum256([]byte("before"))))
	return r
}

func TestLineRoundTrip(t *testing.T) {
	for name, r := range map[string]session.Record{
		"item":         sealed(session.Record{Seq: 7, ID: "01J", Time: day, Kind: session.KindItem, Payload: json.RawMessage(`{"item":{"id":"a"}}`)}),
		"erased":       {Seq: 7, ID: "x", Time: day, Kind: session.KindItem, Body: session.Digest(sha256.Sum256([]byte("gone")))},
		"quotes in id": sealed(session.Record{Seq: 1, ID: `a"\<b>`, Time: day, Kind: record.KindMetaChanged, Payload: json.RawMessage(`{}`)}),
		"no id":        sealed(session.Record{Seq: 1, Time: day, Kind: "of.the.future", Payload: json.RawMessage(`{"a":"\"}"}`)}),
		"odd payload":  sealed(session.Record{Seq: 1, Time: day, Kind: session.KindItem, Payload: json.RawMessage(`{"prev":"x","body":"y","digest":"z"}`)}),
		"long ago":     sealed(session.Record{Seq: 1, Time: time.Date(-44, 3, 15, 0, 0, 0, 0, time.UTC), Kind: session.KindItem, Payload: json.RawMessage(`{}`)}),
		"far away":     sealed(session.Record{Seq: 1 << 60, Time: time.Date(12026, 1, 1, 0, 0, 0, 1e6, time.UTC), Kind: session.KindItem, Payload: json.RawMessage(`{}`)}),
		"big integers": sealed(session.Record{Seq: 2, Time: day, Kind: session.KindItem, Payload: json.RawMessage(`{"n":9007199254740993}`)}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, left := range []int{0, 3} {
				b := appendLine(nil, &r, left)
				if bytes.IndexByte(b, '\n') != len(b)-1 || !json.Valid(b[headLen:]) {
					t.Fatalf("not one line of JSON: %s", b)
				}
				got, n, ok := parseLine(b)
				if !ok || n != left || !reflect.DeepEqual(got, r) {
					t.Fatalf("got %+v, left %d, %v\nwant %+v", got, n, ok, r)
				}
			}
		})
	}
}

func TestLineFieldOrder(t *testing.T) {
	want := sealed(session.Record{Seq: 7, ID: "x", Time: day, Kind: session.KindItem, Payload: json.RawMessage(`{"a":1}`)})
	body := `{"kind":"item", "digest":"` + want.Digest.String() + `", "seq":7, "id":"x", "time":"2026-01-02T04:04:05.006+01:00",` +
		`"payload":{"a":1},"prev":"` + want.Prev.String() + `","body":"` + want.Body.String() + `"}`
	got, _, ok := parseLine(frame(body))
	if !ok || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v\nwant %+v", got, ok, want)
	}
}

// frame makes a line of any text, with a right length and checksum.
func frame(body string) []byte {
	b := append([]byte("00000000 00000000 "), body...)
	putHex(b, uint32(len(body)))
	putHex(b[9:], checksum([]byte(body)))
	return append(b, '\n')
}

func TestLineRefuses(t *testing.T) {
	r := sealed(session.Record{Seq: 7, ID: "x", Time: day, Kind: session.KindItem, Payload: json.RawMessage(`{"a":1}`)})
	good := string(appendLine(nil, &r, 0))
	for name, s := range map[string]string{
		"empty":            "",
		"newline":          "\n",
		"cut":              good[:len(good)-1],
		"longer":           good + "\n",
		"upper case":       strings.ToUpper(good[:8]) + good[8:],
		"other checksum":   good[:9] + "00000000" + good[17:],
		"no JSON":          string(frame("hello")),
		"an array":         string(frame("[]")),
		"no kind":          string(frame("{}")),
		"short digest":     string(frame(`{"seq":1,"kind":"item","time":1,"digest":"ab"}`)),
		"seq not a number": string(frame(strings.Replace(good[headLen:len(good)-1], `"seq":7`, `"seq":x`, 1))),
		"negative left":    string(frame(strings.Replace(good[headLen:len(good)-1], `"seq":7`, `"seq":7,"left":-1`, 1))),
	} {
		if s == good {
			continue
		}
		if got, _, ok := parseLine([]byte(s)); ok {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

// Every single bit of a line counts.
func TestLineBitFlips(t *testing.T) {
	r := sealed(session.Record{Seq: 7, ID: "x", Time: day, Kind: session.KindItem, Payload: json.RawMessage(`{"a":1}`)})
	good := appendLine(nil, &r, 2)
	for i := range len(good) * 8 {
		b := bytes.Clone(good)
		b[i/8] ^= 1 << (i % 8)
		if _, _, ok := parseLine(b); ok {
			t.Fatalf("bit %d of byte %d (%q) may be anything", i%8, i/8, good[i/8])
		}
	}
}

func FuzzLine(f *testing.F) {
	r := sealed(session.Record{Seq: 7, ID: "x", Time: day, Kind: session.KindItem, Payload: json.RawMessage(`{"a":1}`)})
	line := appendLine(nil, &r, 1)
	f.Add(string(line[headLen : len(line)-1]))
	f.Add(`{"kind":"item","seq":1,"time":5,"payload":null}`)
	f.Add(`{"seq":1,"id":"`)
	f.Fuzz(func(t *testing.T, body string) {
		_, _, _ = parseLine([]byte(body))
		b := frame(body)
		got, left, ok := parseLine(b)
		if !ok || bytes.IndexByte(b, '\n') != len(b)-1 || got.Payload != nil && !oneLineObject(got.Payload) {
			return
		}
		again, n, ok := parseLine(appendLine(nil, &got, left))
		got.Time = got.Time.Truncate(time.Millisecond)
		if !ok || n != left || !reflect.DeepEqual(again, got) {
			t.Fatalf("read   %+v\nreread %+v, %v", got, again, ok)
		}
	})
}

func FuzzLog(f *testing.F) {
	a := &author{id: "s"}
	var log []byte
	r := a.opened(nil)
	log = appendLine(log, &r, 0)
	for _, r := range a.items(3, 200) {
		log = appendLine(log, &r, 0)
	}
	f.Add(log)
	f.Add(append(bytes.Clone(log[:len(log)-40]), make([]byte, 100)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		file := bytes.NewReader(b)
		var forward, backward []line
		s := scanner{f: file, limit: int64(len(b))}
		for l, err := s.next(); err == nil; l, err = s.next() {
			if l.off >= l.end {
				t.Fatalf("no progress at %d", l.off)
			}
			if !l.bad {
				forward = append(forward, l)
			}
		}
		u := backscan{f: file, off: int64(len(b))}
		for l, err := u.prev(); err == nil; l, err = u.prev() {
			if !l.bad {
				backward = append([]line{l}, backward...)
			}
		}
		if len(forward) != len(backward) {
			t.Fatalf("%d records forwards, %d backwards", len(forward), len(backward))
		}
		for i := range forward {
			if !reflect.DeepEqual(forward[i], backward[i]) {
				t.Fatalf("record %d: %+v, %+v", i, forward[i], backward[i])
			}
		}
		for seq := int64(-1); seq < 6; seq++ {
			if _, err := seek(file, int64(len(b)), seq); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestParseTime(t *testing.T) {
	for _, s := range []string{
		"2026-01-02T15:04:05.006Z", "0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "2024-02-29T12:00:00.001Z",
		"2023-02-29T12:00:00.001Z", "2026-13-01T00:00:00.000Z", "2026-00-01T00:00:00.000Z", "2026-01-00T00:00:00.000Z",
		"2026-06-31T00:00:00.000Z", "2026-01-01T24:00:00.000Z", "2026-01-01T23:60:00.000Z", "2026-01-01T23:59:60.000Z",
		"2026-01-01 23:59:59.000Z", "2026-01-01T23:59:59.000z", "2026-01-01T23:59:59,000Z", "2026-01-01T23:59:59.00Z", "",
		"+026-01-01T23:59:59.000Z", "2026-01-01T23:59:59.000+", "2026-01-01T23:59:59.0 0Z",
	} {
		got, ok := parseTime([]byte(s))
		want, err := time.Parse(timeLayout, s)
		if strings.Contains(s, ",") {
			err = errors.New("time.Parse takes a comma, we never write one")
		}
		if ok != (err == nil) || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v; time.Parse: %v, %v", s, got, ok, want, err)
		}
	}
}
