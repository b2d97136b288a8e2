package secret

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// An invented token of a known form, assembled here so that scanners do not report it.
var (
	body  = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
	token = "ghp" + "_" + body
)

func TestJSON(t *testing.T) {
	m := newMasker(t)
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", `{"a":[1, 2.50 ,"x\ty"] }`, ``},
		{"a value", `{"a" : "` + token + `", "n": 1.50}`, `{"a" : "[secret:github-token]", "n": 1.50}`},
		{"other escapes stay", `["\u00e9 \/ ` + token + ` \u0041"]`, `["\u00e9 \/ [secret:github-token] \u0041"]`},
		{"an escaped character within", `["ghp\u005f` + body + `"]`, `["[secret:github-token]"]`},
		{"an escaped line break before", `["x\n` + token + `\ny"]`, `["x\n[secret:github-token]\ny"]`},
		{"a surrogate pair before", `["\ud83d\ude00 ` + token + `"]`, `["\ud83d\ude00 [secret:github-token]"]`},
		{"a lonely surrogate before", `["\ud83d ` + token + `"]`, `["\ud83d [secret:github-token]"]`},
		{"a quote before", `["\"` + token + `\""]`, `["\"[secret:github-token]\""]`},
		{"a name stays", `{"` + token + `":1}`, ``},
		{"a name that tells", `{"password":"` + body[:16] + `","x":"` + body[:16] + `"}`, `{"password":"[secret:generic-secret]","x":"` + body[:16] + `"}`},
		{"an escaped name that tells", `{"pass\u0077ord":"` + body[:16] + `"}`, ``},
		{"a number stays", `{"password":1234567890123456}`, ``},
		{"JSON within JSON", `{"text":"{\"api_key\":\"` + body[:20] + `\"}"}`, `{"text":"{\"api_key\":\"[secret:generic-secret]\"}"}`},
		{"a private key", `{"k":"-----BEGIN PRIVATE KEY-----\n` + strings.Repeat(body, 2) + `\n-----END PRIVATE KEY-----\n"}`, `{"k":"[secret:private-key]\n"}`},
		{"two of them", `["` + token + `","` + token + ` ` + token + `"]`, `["[secret:github-token]","[secret:github-token] [secret:github-token]"]`},
		{"a plain string", `"` + token + `"`, `"[secret:github-token]"`},
		{"no JSON", `{"a": ` + token, `{"a": [secret:github-token]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.in
			}
			in := json.RawMessage(tt.in)
			got, found := m.JSON(in)
			if string(got) != want || (len(found) > 0) != (tt.want != "") {
				t.Errorf("%s\nbecame %s %v\nwant   %s", tt.in, got, found, want)
			}
			if string(in) != tt.in {
				t.Error("what was given was changed")
			}
		})
	}
}

func TestNilMasksNothing(t *testing.T) {
	var m *Masker
	if s, found := m.Text(token); s != token || found != nil {
		t.Error(s, found)
	}
	if raw, found := m.JSON(json.RawMessage(`"x"`)); string(raw) != `"x"` || found != nil {
		t.Error(raw, found)
	}
}

func TestCustomPatterns(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    Pattern
		err  string
	}{
		{"good", Pattern{ID: "badge", Words: []string{"HF-"}, Expr: `HF-\d{6}`, Examples: []string{"my HF-123456"}, CounterExamples: []string{"HF-1"}}, ""},
		{"no words", Pattern{ID: "badge", Expr: `\d{6}`, Examples: []string{"123456"}}, ""},
		{"no id", Pattern{Expr: `x`}, "the id may contain only"},
		{"bad id", Pattern{ID: "A b", Expr: `x`}, "the id may contain only"},
		{"bad expression", Pattern{ID: "a", Expr: `(`}, "missing closing"},
		{"matches nothing", Pattern{ID: "a", Expr: `x*`}, "matches the empty text"},
		{"shows what it hides", Pattern{ID: "a", Expr: `x`, Replacement: "x"}, "matches its own replacement"},
		{"empty word", Pattern{ID: "a", Expr: `x`, Words: []string{""}}, "a word is empty"},
		{"much entropy", Pattern{ID: "a", Expr: `x`, Entropy: 9}, "between 0 and 8"},
		{"there already", Pattern{ID: "jwt", Expr: `x`}, "duplicate id"},
		{"misses its example", Pattern{ID: "a", Expr: `x\d`, Examples: []string{"y"}}, "does not find its example"},
		{"misses for its words", Pattern{ID: "a", Expr: `x\d`, Words: []string{"y"}, Examples: []string{"x1"}}, "does not find its example"},
		{"finds what is none", Pattern{ID: "a", Expr: `x\d`, CounterExamples: []string{"x1"}}, "its counterexample"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(&Options{Patterns: []Pattern{tt.p}})
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
	m, err := New(&Options{NoBuiltin: true, Patterns: []Pattern{
		{ID: "badge", Words: []string{"hf-"}, Expr: `HF-(\d{6})`, Replacement: "[gone]"}, {ID: "room", Expr: `room (\d+)`},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s, found := m.Text(token + " HF-123456 in room 12"); s != token+" HF-[gone] in room [secret:room]" || len(found) != 2 {
		t.Errorf("%q %v", s, found)
	}
	if raw, _ := m.JSON(json.RawMessage(`{"room 1":"room 12","a":["x room 3\n"]}`)); string(raw) != `{"room 1":"room [secret:room]","a":["x room [secret:room]\n"]}` {
		t.Errorf("%s", raw)
	}
}

// A secret is found at any position relative to the edges of the searched text.
func TestEdges(t *testing.T) {
	m := newMasker(t)
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("aB3dE5gH", 8)+"\n", 120) + "-----END RSA PRIVATE KEY-----"
	for _, n := range []int{0, 1, 200, 255, 256, 257, 511, 512, 513, 1000, 1023, 1024, 1025, 2048, 5000} {
		for _, fill := range []string{"x ", "token ", "ghp_ ", "key-"} {
			text := strings.Repeat(fill, n/len(fill)) + " "
			for _, s := range []string{token, key} {
				masked, found := m.Text(text + s + " " + text)
				if len(found) != 1 || strings.Contains(masked, "aB3dE5gH") || len(masked) > 2*len(text)+30 {
					t.Errorf("%d bytes of %q before %.20q: %v, %d bytes are left of %d", n, fill, s, found, len(masked), len(text+s+text))
				}
			}
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", token, "password=" + token, "https://a:b" + body + "@c", "token: x" + body[:20] + "[secret:", "ghp_" + token, "[secret:jwt]" + token} {
		f.Add(s)
	}
	m := newMasker(f)
	f.Fuzz(func(t *testing.T, s string) {
		once, found := m.Text(s)
		if (len(found) == 0) != (once == s) && len(found) == 0 {
			t.Errorf("%q became %q without a find", s, once)
		}
		if twice, more := m.Text(once); twice != once {
			t.Errorf("%q became %q and then %q (%v)", s, once, twice, more)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{"", "{", `{"a":"` + token + `"}`, `["\u0070assword=\"` + body + `"]`, `{"token":"` + body + `","b":["\\\"` + token + `"]}`, `"\ud83d"`, "{\"secret\":\"\xff" + body + `"}`} {
		f.Add([]byte(s))
	}
	m := newMasker(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		was := slices.Clone(raw)
		once, found := m.JSON(raw)
		if !slices.Equal(was, raw) {
			t.Error("what was given was changed")
		}
		if json.Valid(raw) && !json.Valid(once) {
			t.Errorf("%s became %s", raw, once)
		}
		if len(found) == 0 && !slices.Equal(once, raw) {
			t.Errorf("%s became %s without a find", raw, once)
		}
		if twice, _ := m.JSON(once); !slices.Equal(twice, once) {
			t.Errorf("%s became %s and then %s", raw, once, twice)
		}
	})
}
