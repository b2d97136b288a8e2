package audit

import (
	"encoding/csv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestInert(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""},
		{"plain", "plain"},
		{"/w/a=b", "/w/a=b"},
		{"=1+1", "'=1+1"},
		{"+1", "'+1"},
		{"-1", "'-1"},
		{"@SUM(A1)", "'@SUM(A1)"},
		{"|cmd", "'|cmd"},
		{"  =1", "'  =1"},
		{"\u00a0=1", "'\u00a0=1"},
		{"\ufeff=1", "'\ufeff=1"},
		{"\u200b=1", "'\u200b=1"},
		{"\t=1", "'\t=1"},
		{"\tx", "'\tx"},
		{"\rx", "'\rx"},
		{"\n", "'\n"},
		{"\uff1d1", "'\uff1d1"},
		{"\u22121", "'\u22121"},
	} {
		if got := inert(c[0]); got != c[1] {
			t.Errorf("%q became %q, want %q", c[0], got, c[1])
		}
	}
}

func FuzzCell(f *testing.F) {
	for _, s := range []string{"a,b", `"`, "=1", " x ", "\r\n", "\n-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		e := Entry{Reason: s}
		var b strings.Builder
		if err := (table{}).entry(&b, &e); err != nil {
			t.Fatal(err)
		}
		r := csv.NewReader(strings.NewReader(b.String()))
		row, err := r.Read()
		if err != nil || len(row) != len(columns) {
			t.Fatalf("%q: %v, %d cells", s, err, len(row))
		}
		for i, c := range columns {
			if c.name != "reason" {
				continue
			}
			got, want := strings.ReplaceAll(row[i], "\r\n", "\n"), strings.ReplaceAll(inert(s), "\r\n", "\n") // the reader makes one of two
			if got != want {
				t.Fatalf("%q is read as %q, want %q", s, got, want)
			}
		}
	})
}
