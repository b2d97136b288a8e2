package cli

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestJSONLines(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", maxJSONLine) + `"}`
	wide := `{"x":"` + strings.Repeat("z", 200<<10) + `"}`
	l := newJSONLines(strings.NewReader("\n{}\n  \n" + long + "\n" + wide + "\r\n{\"last\":1}"))
	var got []string
	for {
		line, err := l.next()
		switch {
		case errors.Is(err, errLongLine):
			got = append(got, "long")
		case errors.Is(err, io.EOF):
			if want := []string{"{}", "long", wide, `{"last":1}`}; !slices.Equal(got, want) {
				t.Errorf("got %d lines", len(got))
			}
			if l.n != 7 {
				t.Errorf("counted %d", l.n)
			}
			return
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(line))
		}
	}
}
