package audit

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a scalar", ` true `, `true`},
		{
			"the sample of RFC 8785, 3.2.2", `{
			"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
			"literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			"names are sorted by UTF-16 units", `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}",
		},
		{"nested", `{"b":{"y":1,"x":[ ]},"a":{ }}`, `{"a":{},"b":{"x":[],"y":1}}`},
		{"short escapes only", `"\u0008\u0009\u000c\u001f\u007f\u2028<>&"`, "\"\\b\\t\\f\\u001f\u007f\u2028<>&\""},
		{
			"numbers", `[0,-0,-0.0,1e0,10.0,1e21,123456789012345680000,1e-7,5e-324,1.7976931348623157e308,0.000001,-1]`,
			`[0,0,0,1,10,1e+21,123456789012345680000,1e-7,5e-324,1.7976931348623157e+308,0.000001,-1]`,
		},
		{"the largest safe whole numbers", `[9007199254740991,-9007199254740991]`, `[9007199254740991,-9007199254740991]`},
		{"digits in strings are no numbers", `"9007199254740993 \" 9007199254740993"`, `"9007199254740993 \" 9007199254740993"`},
	} {
		got, err := Canonical(json.RawMessage(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n got %s (%v)\nwant %s", c.name, got, err, c.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		in   any
		want string
	}{
		{"a whole number that is not exact", json.RawMessage(`{"a":9007199254740993}`), "9007199254740993 is not exact"},
		{"the same, of Go", map[string]int64{"a": math.MaxInt64}, "is not exact"},
		{"a negative one", json.RawMessage(`[-9007199254740993]`), "is not exact"},
		{"a number that is too large", json.RawMessage(`1e999`), "canonical"},
		{"a name twice", json.RawMessage(`{"a":1,"\u0061":2}`), "Duplicate"},
		{"half of a pair", json.RawMessage(`"\ud800"`), "canonical"},
		{"no JSON", json.RawMessage(`{a:1}`), "is not JSON"},
		{"nothing", json.RawMessage(nil), "is not JSON"},
		{"no UTF-8", json.RawMessage("\"\xff\""), "is not UTF-8"},
		{"what has no JSON", func() {}, "canonical"},
	} {
		if got, err := Canonical(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[1e30,-0,"\u20ac"]}`, `9007199254740992`, `1.2345678901234567e20`, `"\ud83d\ude00"`, `[[[]]]`, ` null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := Canonical(json.RawMessage(raw))
		if err != nil {
			return
		}
		twice, err := Canonical(json.RawMessage(once))
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q became %q, and then %q (%v)", raw, once, twice, err)
		}
		var a, b any
		if json.Unmarshal(raw, &a) != nil || json.Unmarshal(once, &b) != nil {
			t.Fatalf("%q and %q are not both JSON", raw, once)
		}
	})
}
