package workspace

import "fmt"

// maxSlugBytes is the maximum length of a workspace name.
const maxSlugBytes = 63

// CheckSlug returns an [Error] that wraps [ErrInvalidSlug] if slug is not a valid workspace name: 1 to 63
// lower-case letters a to z, digits and dashes, without a dash at the beginning or end.
func CheckSlug(slug string) error {
	bad := func(format string, args ...any) error {
		return &Error{
			Op: "check name", Field: "slug", Err: ErrInvalidSlug, Detail: fmt.Sprintf(format, args...),
			Advice: "use a to z, 0 to 9 and '-' in between, such as my-project",
		}
	}
	switch {
	case slug == "":
		return bad("it is empty")
	case len(slug) > maxSlugBytes:
		return bad("it is %d bytes long, at most %d are allowed", len(slug), maxSlugBytes)
	}
	for i, r := range slug {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		case r == '-' && i > 0 && i < len(slug)-1:
		case r == '-':
			return bad("%q begins or ends with a dash", slug)
		default:
			return bad("%q contains %q", slug, r)
		}
	}
	return nil
}
