package sandbox

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// claude reads the fields that only Claude Code's sandbox block has into the equivalent settings.
func (d *decoder) claude(s *Settings) fields {
	return fields{
		"filesystem":                func(v value) error { return d.filesystem(v, s) },
		"allowNestedUserNamespaces": d.once("allowNestedSandbox", d.flagPointer(&s.AllowNestedSandbox)),
		"failIfUnavailable": d.only(true, "false would run commands unconfined where the sandbox is not available",
			"remove it; to run once without the sandbox, use --no-sandbox"),

		"allowAppleEvents":             d.only(false, "it applies only to macOS, which has no kernel sandbox", removeHint),
		"enableWeakerNetworkIsolation": d.only(false, "there is no weaker network isolation", removeHint),
		"bwrapPath":                    d.withoutEffect("the sandbox uses no helper program", removeHint),
		"socatPath":                    d.withoutEffect("the sandbox uses no helper program", removeHint),
		"enabledPlatforms":             d.withoutEffect("a sandbox block applies on every system", "remove it, or put these settings in a separate file"),
		"credentials": d.withoutEffect("the sandbox does not add credentials to requests or mask parts of files",
			"list files with secrets in deniedPaths; commands receive only a few environment variables"),
	}
}

const removeHint = "remove it"

func (d *decoder) claudeNetwork(n *Network) fields {
	return fields{
		"strictAllowlist": d.once("ask", func(v value) error {
			var strict bool
			err := d.flag(&strict)(v)
			n.Ask = new(!strict)
			return err
		}),
		"allowMachLookup": d.withoutEffect("it applies only to macOS, which has no kernel sandbox", removeHint),
		"tlsTerminate":    d.withoutEffect("the proxy does not decrypt TLS", removeHint),
	}
}

// filesystem reads Claude Code's lists of paths. In Claude Code, everything is readable except the
// paths in denyRead that allowRead does not allow again. The working folder is writable in addition
// to the paths in allowWrite.
func (d *decoder) filesystem(v value, s *Settings) error {
	var denyRead, allowRead []string
	opens := 0
	err := d.object(v, fields{
		"allowWrite": d.once("additionalWritePaths", d.claudePaths(&s.AdditionalWritePaths)),
		"denyWrite":  d.once("protectedPaths", d.claudePaths(&s.ProtectedPaths)),
		"denyRead":   d.once("deniedPaths", d.claudePaths(&denyRead)),
		"allowRead": d.once("allowedReadPaths", func(v value) error {
			opens = v.At
			return d.claudePaths(&allowRead)(v)
		}),
	}, fields{
		"allowManagedReadPathsOnly": d.only(false, "each layer restricts reading on its own, and no layer can allow what another denies", removeHint),
		"disabled":                  d.only(false, "file access is always confined", removeHint),
	})
	if err != nil {
		return err
	}
	if len(allowRead) > 0 {
		if denyRead, err = deniedAfterAllow(denyRead, allowRead); err != nil {
			e := &Error{Field: v.field + ".allowRead", Offset: opens, Detail: err.Error(), hint: allowReadHint}
			return e
		}
		s.AllowedReadPaths = allowRead
	}
	if denyRead != nil {
		s.DeniedPaths = denyRead
	}
	return nil
}

const allowReadHint = `no setting can allow a path inside deniedPaths: deny the neighboring folders one by one, or write "denyRead": ["/"] to allow only allowRead`

type allowReadError string

func (e allowReadError) Error() string { return string(e) }

// deniedAfterAllow returns the paths that stay denied when allowRead allows parts of "/". It is an error if
// denyRead does not contain "/", because allowRead has no other use.
func deniedAfterAllow(denyRead, allowRead []string) ([]string, error) {
	if !slices.Contains(denyRead, "/") {
		return nil, allowReadError(`it can only allow parts of "/", and denyRead does not contain "/"`)
	}
	rest := slices.DeleteFunc(slices.Clone(denyRead), func(p string) bool { return p == "/" })
	for _, open := range allowRead {
		for _, closed := range rest {
			if within(path.Clean(open), path.Clean(closed)) {
				return nil, allowReadError("it would allow " + open + " inside " + closed + ", which denyRead denies")
			}
		}
	}
	return rest, nil
}

// claudePaths reads a list of Claude Code's paths: "//x" is "/x", and "x/**" is the tree below x,
// which "x" also means.
func (d *decoder) claudePaths(into *[]string) reader {
	return func(v value) error {
		err := d.list(into, func(text string) (what, hint string) { return checkPathEntry(claudePath(text)) })(v)
		for i, text := range *into {
			(*into)[i] = claudePath(text)
		}
		return err
	}
}

func claudePath(text string) string {
	if strings.HasPrefix(text, "//") {
		text = text[1:]
	}
	switch text {
	case "/**":
		return "/"
	case "**":
		return "."
	}
	return strings.TrimSuffix(text, "/**")
}

// only reads a flag that must have the value needed in Holdfast. It rejects the other value.
func (d *decoder) only(needed bool, why, hint string) reader {
	return func(v value) error {
		var got bool
		if err := d.flag(&got)(v); err != nil || got == needed {
			return err
		}
		return &Error{Field: v.field, Offset: v.At, Detail: why, hint: hint}
	}
}

// withoutEffect rejects a field, whatever its value.
func (d *decoder) withoutEffect(why, hint string) reader {
	return func(v value) error {
		return &Error{Field: v.field, Offset: v.key, Detail: "it would have no effect: " + why, hint: hint}
	}
}

// flagOrList reads the Open Agent SDK's allowUnixSockets, or Claude Code's list of sockets. That
// list must be empty, because only macOS can allow individual sockets.
func (d *decoder) flagOrList(into *bool) reader {
	return func(v value) error {
		if v.Kind != jsontree.List {
			return d.flag(into)(v)
		}
		var sockets []string
		return d.list(&sockets, func(string) (what, hint string) {
			return "a list of sockets works only on macOS: the Linux system call filter cannot see socket names", "write true to allow all sockets among the command's own files, or remove it"
		})(v)
	}
}
