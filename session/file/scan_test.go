package file

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawLog writes records of very different sizes, from seq first on.
func drawLog(t *rapid.T) (b []byte, ends []int64, first int64) {
	a := &author{id: "s", seq: rapid.Int64Range(0, 50).Draw(t, "base")}
	first = a.seq + 1
	sizes := rapid.SliceOfN(rapid.SampledFrom([]int{1, 150, 1400, 9000, firstChunk, chunk + 7}), 1, 7).Draw(t, "sizes")
	for _, n := range sizes {
		r := a.items(1, n)[0]
		b = appendLine(b, &r, 0)
		ends = append(ends, int64(len(b)))
	}
	return b, ends, first
}

func TestSeekAndScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, ends, first := drawLog(t)
		f, size := bytes.NewReader(b), int64(len(b))
		s := scanner{f: f, limit: size}
		for i, end := range ends {
			l, err := s.next()
			if err != nil || l.bad || l.end != end || l.rec.Seq != first+int64(i) {
				t.Fatalf("record %d: %+v, %v", i, l, err)
			}
		}
		if _, err := s.next(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		u := backscan{f: f, off: size}
		for i, end := range slices.Backward(ends) {
			if l, err := u.prev(); err != nil || l.bad || l.end != end {
				t.Fatalf("record %d backwards: %+v, %v", i, l, err)
			}
		}
		for i := -1; i <= len(ends); i++ {
			want := int64(0)
			if i >= 0 {
				want = ends[min(i, len(ends)-1)]
			}
			if l, err := seek(f, size, first+int64(i)); err != nil || l.end != want {
				t.Fatalf("seek %d: %d, want %d, %v", first+int64(i), l.end, want, err)
			}
		}
	})
}

// A damaged length is not believed.
func TestScanHugeLength(t *testing.T) {
	a := &author{id: "s"}
	var b []byte
	for _, r := range a.items(3, 500) {
		b = appendLine(b, &r, 0)
	}
	copy(b, "0fffffff")
	s := scanner{f: bytes.NewReader(b), limit: 1 << 40}
	l, err := s.next()
	if err != nil || !l.bad {
		t.Fatalf("%+v, %v", l, err)
	}
	if l, err = s.next(); err != nil || l.bad || l.rec.Seq != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
}

type brokenDisk struct{}

var errBroken = errors.New("input/output error")

func (brokenDisk) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

func TestScanReadErrors(t *testing.T) {
	s := scanner{f: brokenDisk{}, limit: 100}
	if _, err := s.next(); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	u := backscan{f: brokenDisk{}, off: 100}
	if _, err := u.prev(); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if _, err := seek(brokenDisk{}, 100, 3); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if _, err := lastWhole(brokenDisk{}, 100, false); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}
