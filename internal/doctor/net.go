package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// checkServers checks whether the server of each configured provider answers. It sends no API key and
// makes no model call.
func (x *examination) checkServers(ctx context.Context) []Check {
	urls := x.servers()
	if len(urls) == 0 {
		return []Check{{"net", "warn", "no provider is set up", "name a model in the settings, or set a provider's key, such as ANTHROPIC_API_KEY"}}
	}
	var out []Check
	for _, u := range urls {
		out = append(out, checkServer(ctx, u, x.env.Now))
	}
	return out
}

func checkServer(ctx context.Context, url string, now func() time.Time) Check {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+"/models", nil)
	if err != nil {
		return Check{"net", "fail", fmt.Sprintf("invalid base URL: %v", errors.Unwrap(err)), "use a URL such as http://127.0.0.1:11434/v1"}
	}
	name := req.URL.Scheme + "://" + req.URL.Host // without the path, and without a user name and password before the @
	start := now()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return Check{"net", "fail", fmt.Sprintf("%s does not answer: %v", name, errors.Unwrap(err)), cmp.Or(outcome.Hint(err), "check the URL and the proxy settings")}
	}
	_ = resp.Body.Close()
	return Check{"net", "ok", fmt.Sprintf("%s answers (HTTP %d, %s)", name, resp.StatusCode, term.Elapsed(now().Sub(start))), ""}
}
