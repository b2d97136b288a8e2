package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/model"
)

func TestBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Body
		b.Grow(rapid.IntRange(0, 3).Draw(t, "room"))
		var want []byte
		for _, piece := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 40)).Draw(t, "pieces") {
			b.Add(piece)
			want = append(want, piece...)
		}
		if b.Size() != int64(len(want)) || !bytes.Equal(b.Bytes(), want) {
			t.Fatalf("size %d, bytes %q, want %q", b.Size(), b.Bytes(), want)
		}
		for range 2 { // a second reader starts anew
			if got, err := io.ReadAll(iotest.OneByteReader(b.Reader())); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("read %q, %v", got, err)
			}
		}
	})
}

func TestBodyReader(t *testing.T) {
	var b Body
	for _, s := range []string{"a", "", "bc", "def"} {
		b.Add([]byte(s))
	}
	if err := iotest.TestReader(b.Reader(), []byte("abcdef")); err != nil {
		t.Error(err)
	}
}

func TestExchange(t *testing.T) {
	var b Body
	b.Add([]byte("question"))
	for _, tt := range []struct {
		status int
		err    error
		failed bool
	}{
		{status: 200},
		{status: 204},
		{status: 307, failed: true},
		{status: 429, failed: true},
		{err: io.ErrUnexpectedEOF},
	} {
		x := &Exchange{Body: &b}
		client := Client(&http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
			sent, _ := io.ReadAll(req.Body)
			again, _ := req.GetBody()
			resent, _ := io.ReadAll(again)
			if string(sent) != "question" || string(resent) != "question" || req.ContentLength != 8 {
				t.Errorf("sent %q, then %q, length %d", sent, resent, req.ContentLength)
			}
			if agent := req.Header.Get("User-Agent"); !strings.HasPrefix(agent, "holdfast/") {
				t.Errorf("User-Agent %q", agent)
			}
			if tt.err != nil {
				return nil, tt.err
			}
			return &http.Response{StatusCode: tt.status, Body: io.NopCloser(strings.NewReader("said"))}, nil
		})})
		//nolint:bodyclose // made up above: there is nothing to close
		res, err := x.Post(t.Context(), client, "http://127.0.0.1/", Header("*/*", nil))
		if !errors.Is(err, tt.err) || x.Failed() != tt.failed {
			t.Errorf("%d: failed %v, error %v", tt.status, x.Failed(), err)
		}
		if err == nil {
			if said, _ := io.ReadAll(res.Body); string(said) != "said" {
				t.Errorf("%d: body %q", tt.status, said)
			}
		}
	}
}

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestKind(t *testing.T) {
	const limit = `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`
	for _, tt := range []struct {
		status int
		body   string
		want   model.ErrorKind
		text   string
	}{
		{400, `{"error":{"message":"bad schema","type":"invalid_request_error"}}`, model.ErrorInvalid, "bad schema"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`, model.ErrorTooLong, "prompt is too long: 9 tokens > 8 maximum"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 9"}}`, model.ErrorTooLong, "input length and max_tokens exceed context limit: 9"},
		{400, `{"error":{"message":"m","code":"context_length_exceeded"}}`, model.ErrorTooLong, "m"},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.ErrorTooLong, "the request exceeds the available context size"},
		{500, `{"error":{"code":500,"message":"boom while reading the context window"}}`, model.ErrorOverloaded, "boom while reading the context window"},
		{413, `{"error":{"type":"request_too_large","message":"m"}}`, model.ErrorTooLong, "m"},
		{422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, model.ErrorInvalid, `[{"loc":["body"],"msg":"field required"}]`},
		{401, `{"error":{"message":"no key"}}`, model.ErrorAuth, "no key"},
		{402, `{"error":{"message":"no credit","code":402}}`, model.ErrorAuth, "no credit"},
		{403, ``, model.ErrorAuth, ""},
		{404, `{"error":"model 'x' not found"}`, model.ErrorNotFound, "model 'x' not found"},
		{404, `404 page not found`, model.ErrorNotFound, "404 page not found"},
		{405, ``, model.ErrorInvalid, ""},
		{408, ``, model.ErrorOverloaded, ""},
		{409, ``, model.ErrorOverloaded, ""},
		{429, limit, model.ErrorRateLimit, "slow down"},
		{429, `{"error":{"message":"no money","type":"insufficient_quota","code":"insufficient_quota"}}`, model.ErrorAuth, "no money"},
		{500, `{}`, model.ErrorOverloaded, ""},
		{503, `{"object":"error","message":"starting"}`, model.ErrorOverloaded, "starting"},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrorOverloaded, "Overloaded"},
		{0, limit, model.ErrorRateLimit, "slow down"},
		{0, `{"error":{"message":"m","code":404}}`, model.ErrorNotFound, "m"},
		{0, `{"error":{"message":"m","type":"authentication_error"}}`, model.ErrorAuth, "m"},
		{0, `{"error":{"message":"m","type":"permission_error"}}`, model.ErrorAuth, "m"},
		{0, `{"error":{"message":"m","type":"not_found_error"}}`, model.ErrorNotFound, "m"},
		{0, `{"error":{"message":"m","type":"invalid_request_error"}}`, model.ErrorInvalid, "m"},
		{0, `{"error":{"message":"m","type":"from_the_future"}}`, model.ErrorOverloaded, "m"},
		{0, `{"error":null}`, model.ErrorOverloaded, ""},
	} {
		c := parseAPIError([]byte(tt.body))
		if got := c.kind(tt.status); got != tt.want || c.message != tt.text {
			t.Errorf("%d %s: %s %q, want %s %q", tt.status, tt.body, got, c.message, tt.want, tt.text)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := Provider{Now: func() time.Time { return now }}
	for _, tt := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "", 0},
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.25", 250 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "soon", 0},
		{"Retry-After", now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second},
		{"Retry-After", now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
	} {
		if got := p.retryAfter(http.Header{tt.name: {tt.value}}); got != tt.want {
			t.Errorf("%s %q: %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
	both := http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"1900"}}
	if got := p.retryAfter(both); got != 1900*time.Millisecond {
		t.Errorf("both: %v", got)
	}
}

func TestMask(t *testing.T) {
	const key = "sk/secret+key 1"
	address, err := url.Parse("https://me:pass-word@127.0.0.1/v1?token=query-token")
	if err != nil {
		t.Fatal(err)
	}
	s := SecretsOf(key, address, nil)
	for _, secret := range []string{key, url.QueryEscape(key), url.PathEscape(key), "pass-word", "query-token", "bWU6cGFzcy13b3Jk"} {
		got := s.Mask("you said <" + secret + "> twice: " + secret + ".")
		if got != "you said <***> twice: ***." {
			t.Errorf("%s: %s", secret, got)
		}
		// The cut at 2,000 bytes does not leave the first half of a key.
		if got := s.Mask(strings.Repeat("x", maxMessage-3) + secret); strings.Contains(got, secret[:3]) {
			t.Errorf("%s: %s", secret, got[maxMessage-10:])
		}
	}
	if got := s.Mask("a\x1b[31m\r\n\tb\xff" + strings.Repeat("é", 2000)); strings.ContainsAny(got, "\x1b\r\n\t") || !utf8.ValidString(got) || len(got) > maxMessage+4 {
		t.Errorf("%q", got)
	}
	if got := SecretsOf("abc", nil, nil).Mask("abc"); got != "abc" {
		t.Errorf("a key too short to be one was masked: %q", got)
	}
}

func TestHidden(t *testing.T) {
	e := Provider{Name: "p", Secrets: Secrets{"the-key"}}.StreamBroken(t.Context(), &url.Error{Op: "Post", URL: "http://x/?k=the-key", Err: io.ErrUnexpectedEOF})
	if e.Kind != model.ErrorNetwork || !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("%+v", e)
	}
	for err := error(e); err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), "the-key") {
			t.Errorf("%T shows the key: %v", err, err)
		}
	}
	if _, ok := errors.AsType[*url.Error](e); ok {
		t.Error("the error that holds the key can be taken out")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e := (Provider{}).StreamBroken(ctx, io.EOF); e.Kind != model.ErrorCancelled || !errors.Is(e, context.Canceled) || e.Retryable() {
		t.Errorf("%+v", e)
	}
}

func TestHeads(t *testing.T) {
	var h HeadCache
	encoded := 0
	of := func(system, schema string) string {
		return string(h.Get(&model.Request{System: system, Tools: []model.ToolSpec{{Name: "t", Input: json.RawMessage(schema)}}},
			func(r *model.Request) []byte { encoded++; return []byte(r.System + string(r.Tools[0].Input)) }))
	}
	for range 3 {
		if of("a", "{}") != "a{}" || of("b", "{}") != "b{}" || of("a", `{"x":1}`) != `a{"x":1}` {
			t.Error("a wrong head")
		}
	}
	if encoded != 3 {
		t.Errorf("encoded %d times", encoded)
	}
	for i := range 20 {
		of(strings.Repeat("s", i), "{}")
	}
	if len(h.kept) != maxHeads {
		t.Errorf("%d kept", len(h.kept))
	}
	schema := []byte(`{"y":1}`)
	h.Get(&model.Request{Tools: []model.ToolSpec{{Input: schema}}}, func(*model.Request) []byte { return []byte("old") })
	copy(schema, `{"z":2}`) // the caller's own bytes
	got := h.Get(&model.Request{Tools: []model.ToolSpec{{Input: schema}}}, func(*model.Request) []byte { return []byte("new") })
	if string(got) != "new" {
		t.Error("a head of other tools was taken")
	}
}

func TestToolInput(t *testing.T) {
	for _, tt := range []struct {
		text, input, object string
		ok                  bool
	}{
		{"", `{}`, `{}`, true},
		{" \n", `{}`, `{}`, true},
		{"null", `{}`, `{}`, true},
		{`{"a" : 9007199254740993}`, `{"a":9007199254740993}`, `{"a":9007199254740993}`, true},
		{`[1]`, `[1]`, `{"malformed_input":[1]}`, true},
		{`{"a":`, `"{\"a\":"`, `{"malformed_input":"{\"a\":"}`, false},
		{`{} {}`, `"{} {}"`, `{"malformed_input":"{} {}"}`, false},
	} {
		input, ok := ToolInput([]byte(tt.text))
		if string(input) != tt.input || ok != tt.ok {
			t.Errorf("%q: %s, %v", tt.text, input, ok)
		}
		if got := AppendInput(nil, input); string(got) != tt.object || !json.Valid(got) {
			t.Errorf("%q: sent as %s", tt.text, got)
		}
	}
}

func TestCheckKey(t *testing.T) {
	if err := CheckKey("sk-made-up"); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"sk-made\nup", "sk-made-üp"} {
		if err := CheckKey(key); err == nil || strings.Contains(err.Error(), "made") {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, s := range []string{"", "127.0.0.1:80", "ftp://x", "http://", "http://a b/", "unix:///x"} {
		if _, err := Address(s); err == nil || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%q: %v", s, err)
		}
	}
	if _, err := Address("http://127.0.0.1:8080/v1"); err != nil {
		t.Error(err)
	}
}

// AppendQuoted agrees with encoding/json on every compact document, and Objects
// finds what encoding/json finds.
func FuzzLiterals(f *testing.F) {
	f.Add([]byte(`{"a":"x\"y\\","b":[1,{"c":null}]}`), []byte(`{"t":"}{"}`))
	f.Add([]byte(`"}`), []byte(`[[`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for range Objects(a) {
		}
		ca, okA := Compact(a)
		cb, okB := Compact(b)
		if !okA || !okB {
			return
		}
		var back string
		if err := json.Unmarshal(AppendQuoted(nil, ca), &back); err != nil || utf8.Valid(ca) && back != string(ca) {
			t.Fatalf("%s: %q, %v", ca, back, err)
		}
		if len(ca) == 0 || len(cb) == 0 || ca[0] != '{' || cb[0] != '{' {
			return
		}
		list := string(ca) + "," + string(cb)
		var got []string
		for at, o := range Objects([]byte(list)) {
			if list[at:at+len(o)] != string(o) {
				t.Fatalf("object %s is not at %d of %s", o, at, list)
			}
			got = append(got, string(o))
		}
		if len(got) != 2 || got[0] != string(ca) || got[1] != string(cb) {
			t.Fatalf("%s: %q", list, got)
		}
	})
}
