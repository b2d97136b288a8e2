package jsonscan

import (
	"encoding/json"
	"math"
	"testing"
)

func TestMarshal(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{
		{"a <b> & \"c\"\n", `"a <b> & \"c\"\n"`},
		{map[string]any{"b": 1, "a": "<"}, `{"a":"<","b":1}`},
		{json.RawMessage(`{ "x": "<" }`), `{"x":"<"}`},
		{nil, "null"},
	} {
		if got, err := Marshal(tt.v); err != nil || string(got) != tt.want {
			t.Errorf("%v: %s, %v, want %s", tt.v, got, err, tt.want)
		}
	}
	if got, err := Marshal(math.NaN()); err == nil {
		t.Errorf("not a number is %s", got)
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{
		"":        `""`,
		"<a&b>":   `"<a&b>"`,
		"é\t\x01": `"é\t\u0001"`,
		"\xff":    "\"\\ufffd\"",
	} {
		if got := Quote(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

func TestCompact(t *testing.T) {
	for in, want := range map[string]string{
		" { \"a\" : [ 1 ,\n2 ] } ": `{"a":[1,2]}`,
		`"a  b"`:                   `"a  b"`,
		"{ not json":               "{ not json",
		"":                         "",
	} {
		if got := Compact([]byte(in)); string(got) != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"", "", true},
		{"", "{}", false},
		{`{"a":1}`, ` { "a" : 1 } `, true},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, false}, // the order counts
		{`1.0`, `1`, false},
		{`"a b"`, `"a  b"`, false},
		{"{broken", "{broken", true},
		{"{broken", "{ broken", false},
	} {
		if got, back := Equal([]byte(tt.a), []byte(tt.b)), Equal([]byte(tt.b), []byte(tt.a)); got != tt.want || back != tt.want {
			t.Errorf("%q and %q: %v and %v", tt.a, tt.b, got, back)
		}
	}
}

func TestIsObject(t *testing.T) {
	for in, want := range map[string]bool{
		"{}": true, " \n{\"a\":1} ": true,
		"": false, "[]": false, "null": false, `"{}"`: false, "{": false, "{} {}": false, "{}x": false, "\u00a0{}": false,
	} {
		if got := IsObject([]byte(in)); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}
