package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// reach asks the server of each provider that is set up whether it answers. No
// key is sent and no model is called.
func (x *examination) reach(ctx context.Context) []Check {
	var urls []string
	if u := x.env.Get("ANTHROPIC_BASE_URL"); u != "" || x.env.Get("ANTHROPIC_API_KEY") != "" {
		urls = append(urls, cmp.Or(u, "https://api.anthropic.com"))
	}
	if u := x.env.Get("OPENAI_BASE_URL"); u != "" || x.env.Get("OPENAI_API_KEY") != "" {
		urls = append(urls, cmp.Or(u, "https://api.openai.com/v1"))
	}
	if models.Provider(x.env.Get("HOLDFAST_MODEL")) == "ollama" {
		urls = append(urls, models.OllamaURL)
	}
	if len(urls) == 0 {
		return []Check{{"net", "warn", "no provider is set up", "set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL"}}
	}
	var out []Check
	for _, u := range urls {
		out = append(out, answers(ctx, u, x.env.Now))
	}
	return out
}

func answers(ctx context.Context, url string, now func() time.Time) Check {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+"/models", nil)
	if err != nil {
		return Check{"net", "fail", fmt.Sprintf("the base URL is no address: %v", errors.Unwrap(err)), "http://127.0.0.1:11434/v1 would be one"}
	}
	name := req.URL.Scheme + "://" + req.URL.Host // without what may stand before an @
	start := now()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return Check{"net", "fail", fmt.Sprintf("%s does not answer: %v", name, errors.Unwrap(err)), cmp.Or(outcome.Hint(err), "check the address and the proxy settings")}
	}
	_ = resp.Body.Close()
	return Check{"net", "ok", fmt.Sprintf("%s answers (HTTP %d, %s)", name, resp.StatusCode, term.Elapsed(now().Sub(start))), ""}
}
