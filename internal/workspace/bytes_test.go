package workspace

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "1": 1, "512": 512, "1k": 1 << 10, "512m": 512 << 20, "2g": 2 << 30, "2G": 2 << 30, "2gb": 2 << 30, "2GiB": 2 << 30,
		"1.5g": 3 << 29, "0.5k": 512, "3t": 3 << 40, "none": Unlimited, "NONE": Unlimited, "1024": 1024,
	} {
		got, err := ParseBytes(text)
		if got != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
		if again, err := ParseBytes(got.String()); again != want || err != nil {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	for _, text := range []string{
		"", "g", ".", "1.2.3", "-1", "-1g", "+1g", "1e9", "0x10", "inf", "nan", "2 g", " 2g", "2g ", "2x", "2kb2", "1b", "1ib", "ib", "0.3",
		"1.0001k", "9999999999999t", "８g", "2g\n", "2gg",
	} {
		if got, err := ParseBytes(text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

func TestBytesJSON(t *testing.T) {
	for source, want := range map[string]Bytes{`"2g"`: 2 << 30, `1024`: 1024, `"none"`: Unlimited, `"1536"`: 1536} {
		var got Bytes
		if err := json.Unmarshal([]byte(source), &got); err != nil || got != want {
			t.Errorf("%s: %d, %v", source, got, err)
		}
	}
	for _, source := range []string{`1.5`, `-1`, `null`, `true`, `{}`, `[]`, `"x"`, `1e3`} {
		var got Bytes
		if err := json.Unmarshal([]byte(source), &got); err == nil && source != "null" {
			t.Errorf("%s is read as %d", source, got)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"2g", "1.5m", "none", "0", "1e9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseBytes(s)
		if err != nil {
			return
		}
		if again, err := ParseBytes(got.String()); err != nil || again != got || got < Unlimited {
			t.Errorf("%q is %d, written as %q, read as %d, %v", s, got, got, again, err)
		}
	})
}
