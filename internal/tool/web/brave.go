package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

// Brave is the Brave Search API (https://api-dashboard.search.brave.com): GET /web/search with the key in
// X-Subscription-Token.
type Brave struct {
	base *url.URL
	key  string
}

// BraveURL is the URL of the service.
const BraveURL = "https://api.search.brave.com/res/v1"

// NewBrave returns a searcher that uses a key of the service. base is the URL of the service; "" means
// [BraveURL]. An invalid key or URL is an error.
func NewBrave(key, base string) (*Brave, error) {
	if base == "" {
		base = BraveURL
	}
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "":
		return nil, fmt.Errorf("web: invalid URL of the search engine: want https://HOST/PATH")
	case key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("web: the key of the search engine is empty or contains invalid characters")
	}
	return &Brave{base: u, key: key}, nil
}

// Endpoint returns the address of the service.
func (b *Brave) Endpoint() *url.URL { return b.base }

// String hides the key.
func (b *Brave) String() string { return "Brave Search at " + b.base.String() }

// GoString hides the key.
func (b *Brave) GoString() string { return b.String() }

// maxAnswer limits the service's response in bytes.
const maxAnswer = 2 << 20

// Search sends a query to the service.
func (b *Brave) Search(ctx context.Context, q Query, do func(*http.Request) (*http.Response, error)) ([]Result, error) {
	text := q.Text + siteFilter(q)
	if len(text) > maxQuery { // the service rejects longer queries; results are filtered anyway
		text = q.Text
	}
	u := b.base.JoinPath("web/search")
	u.RawQuery = url.Values{"q": {text}, "count": {"20"}, "result_filter": {"web"}, "text_decorations": {"false"}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("X-Subscription-Token", b.key)
	resp, err := do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, refusal(resp)
	case len(body) > maxAnswer:
		return nil, errors.New("the search engine's response is too large")
	}
	return readBrave(body)
}

// siteFilter returns the domains of a query in the query language of the service.
func siteFilter(q Query) string {
	var out []string
	for _, d := range q.Allowed {
		out = append(out, "site:"+d)
	}
	text := strings.Join(out, " OR ")
	if len(out) > 1 {
		text = "(" + text + ")"
	}
	for _, d := range q.Blocked {
		text += " -site:" + d
	}
	if text = strings.TrimSpace(text); text != "" {
		text = " " + text
	}
	return text
}

// refusal returns the error for an HTTP status. It omits the response, because the response may
// quote the request.
func refusal(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("the search engine rejected the key (HTTP %d)", resp.StatusCode)
	case http.StatusTooManyRequests:
		return errors.New("too many searches (HTTP 429): wait and retry, or check the quota of the key")
	}
	return fmt.Errorf("the search engine returned HTTP %d", resp.StatusCode)
}

func readBrave(body []byte) ([]Result, error) {
	var in struct {
		Web struct {
			Results []struct {
				Title       string   `json:"title"`
				URL         string   `json:"url"`
				Description string   `json:"description"`
				Age         string   `json:"age"`
				Extra       []string `json:"extra_snippets"`
			} `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, errors.New("the search engine's response is not valid JSON")
	}
	var list []Result
	for _, r := range in.Web.Results {
		text := plainText(strings.Join(append([]string{r.Description}, r.Extra...), " … "))
		list = append(list, Result{Title: plainText(r.Title), URL: r.URL, Text: text, Age: r.Age})
	}
	return list, nil
}

var tags = lazyregexp.Must(`</?[a-zA-Z][^<>]*>`)

// plainText removes tags and decodes entities.
func plainText(text string) string { return html.UnescapeString(tags().ReplaceAllString(text, "")) }
