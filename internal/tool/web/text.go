package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// readable converts the body of a response to text for a model. HTML becomes Markdown; text is not
// changed. If the body is not text, the error names its type.
func readable(ctx context.Context, contentType string, body []byte, u *url.URL) (kind, text string, err error) {
	kind, _, err = mime.ParseMediaType(contentType)
	if err != nil || kind == "" || kind == "application/octet-stream" {
		contentType = http.DetectContentType(body)
		kind, _, _ = mime.ParseMediaType(contentType)
	}
	if !isText(kind) {
		return kind, "", fmt.Errorf("the content is %s (%d bytes), not text", kind, len(body))
	}
	if body, err = decoded(body, contentType); err != nil {
		return kind, "", err
	}
	if kind != "text/html" && kind != "application/xhtml+xml" {
		return kind, strings.ToValidUTF8(string(body), "\uFFFD"), nil
	}
	text, err = markdown(ctx, body, u)
	return kind, text, err
}

func isText(kind string) bool {
	switch kind {
	case "application/json", "application/xml", "application/xhtml+xml", "application/javascript", "application/ecmascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/x-sh", "application/graphql",
		"application/x-ndjson", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
}

// decoded returns a text in UTF-8.
func decoded(body []byte, contentType string) ([]byte, error) {
	enc, name, certain := charset.DetermineEncoding(body, contentType)
	if name == "utf-8" || !certain && utf8.Valid(body) {
		return bytes.TrimPrefix(body, []byte("\uFEFF")), nil
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return nil, fmt.Errorf("the text is not %s, although the server says so", name)
	}
	return out, nil
}

// markdown converts HTML in time proportional to its size. The parser limits the nesting of
// elements, and [limitNesting] limits their output. Characters are not escaped, because escaping is
// only needed for rendering and would scan all following text each time.
func markdown(ctx context.Context, body []byte, u *url.URL) (text string, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("converting the HTML failed")
		}
	}()
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("converting the HTML failed: %w", err)
	}
	limitNesting(doc, 0)
	c := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))),
		converter.WithEscapeMode(converter.EscapeModeDisabled),
	)
	out, err := c.ConvertNode(doc, converter.WithContext(ctx), converter.WithDomain(u.Scheme+"://"+u.Host))
	if err != nil {
		return "", fmt.Errorf("converting the HTML failed: %w", err)
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), nil
}
