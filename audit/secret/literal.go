package secret

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

// placeholderTexts are texts that people write in place of a secret.
var placeholderTexts = []string{
	"example", "changeme", "change-me", "change_me", "placeholder", "your-", "your_", "yourpassword", "xxxx", "****", "....", "dummy",
	"redacted", "insert-", "insert_", "replace", "secret", "password", "passwd", "sample", "123456789", "abcdef", "process.env", "os.environ",
}

var (
	// identifiers joined by dots, dashes or underscores, as in config.apiKey2 or next_token-2;
	// digits are only at the end of a word.
	identifier = lazyregexp.Must(`^[A-Za-z_$][A-Za-z]*[0-9]{0,3}(?:(?:[._:>/=-]|->|::)+[A-Za-z]+[0-9]{0,3})*[.,;:=-]*$`)
	uuid       = lazyregexp.Must(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
	sum        = lazyregexp.Must(`^(?:h1|go\.mod|sha(?:1|256|384|512))[:-]`)
	path       = lazyregexp.Must(`^(?:[a-z]+:/|[.~]{0,2})/[A-Za-z0-9._-]+/`)
)

// isLiteral reports whether a value may be a secret itself, and not a variable, a call, a path,
// an id or a placeholder from documentation.
func isLiteral(s string) bool {
	lower := strings.ToLower(s)
	for _, w := range placeholderTexts {
		if strings.Contains(lower, w) {
			return false
		}
	}
	if strings.HasPrefix(s, "$") || strings.HasPrefix(s, "%") || strings.HasPrefix(s, "&") || strings.HasPrefix(s, "*") {
		return false
	}
	return lower != "pass" && !identifier().MatchString(s) && !uuid().MatchString(s) && !sum().MatchString(lower) && !path().MatchString(s)
}
