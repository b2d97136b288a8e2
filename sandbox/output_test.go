package sandbox

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	for _, size := range []int{1, 7, 1000, tailSize - 1, tailSize, tailSize + 1, 3 * tailSize} {
		var all bytes.Buffer
		kept := &tail{}
		for i := range 5 {
			piece := bytes.Repeat([]byte{byte('a' + i)}, size)
			all.Write(piece)
			if n, err := kept.Write(piece); n != size || err != nil {
				t.Fatal(n, err)
			}
			want := all.Bytes()[max(0, all.Len()-tailSize):]
			if !bytes.Equal(kept.bytes(), want) {
				t.Fatalf("size %d, piece %d: %d bytes, want %d", size, i, len(kept.bytes()), len(want))
			}
			if cap(kept.b) > 5*tailSize {
				t.Fatalf("it keeps %d bytes", cap(kept.b))
			}
		}
	}
}

func TestBudget(t *testing.T) {
	for _, tt := range []struct {
		limit  int64
		pieces []string
		want   string
	}{
		{5, []string{"abc", "de"}, "abcde"},
		{5, []string{"abc", "def"}, "abcde\n[output limit of 5 bytes reached; 1 bytes dropped]\n"},
		{4, []string{"abc\n", "def"}, "abc\n[output limit of 4 bytes reached; 3 bytes dropped]\n"},
		{1024, []string{strings.Repeat("x", 1025)}, strings.Repeat("x", 1024) + "\n[output limit of 1 KiB reached; 1 bytes dropped]\n"},
	} {
		var out bytes.Buffer
		b := &budget{limit: tt.limit}
		w := &budgeted{w: &out, budget: b}
		for _, p := range tt.pieces {
			if n, err := fmt.Fprint(w, p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := w.finish(); err != nil || out.String() != tt.want {
			t.Errorf("%q: %q, %v", tt.pieces, out.String(), err)
		}
	}
}

// Two streams share one budget, and each reports what it dropped.
func TestBudgetIsShared(t *testing.T) {
	var out, errs bytes.Buffer
	b := &budget{limit: 6}
	o, e := &budgeted{w: &out, budget: b}, &budgeted{w: &errs, budget: b}
	fmt.Fprint(o, "abcd")
	fmt.Fprint(e, "efgh")
	fmt.Fprint(o, "ij")
	if o.finish() != nil || e.finish() != nil || b.lost() != 4 {
		t.Errorf("%d lost", b.lost())
	}
	if want := "abcd\n[output limit of 6 bytes reached; 2 bytes dropped]\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
	if want := "ef\n[output limit of 6 bytes reached; 2 bytes dropped]\n"; errs.String() != want {
		t.Errorf("%q", errs.String())
	}
	if (*budget)(nil).lost() != 0 {
		t.Error("no budget lost something")
	}
}

func TestByteText(t *testing.T) {
	for n, want := range map[int64]string{1: "1 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1 << 20: "1 MiB", 3 << 30: "3 GiB", 1<<20 + 1: "1048577 bytes", 1536 << 10: "1536 KiB"} {
		if got := byteText(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
