package sandbox

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// claude reads the fields that only Claude Code's sandbox block has, into the
// settings that say the same.
func (d *decoder) claude(s *Settings) fields {
	return fields{
		"filesystem":                func(v value) error { return d.filesystem(v, s) },
		"allowNestedUserNamespaces": d.once("allowNestedSandbox", d.flagPointer(&s.AllowNestedSandbox)),
		"failIfUnavailable": d.only(true, "false would run commands without the sandbox where it cannot be had",
			"take it out; --no-sandbox does this for one run"),

		"allowAppleEvents":             d.only(false, "it is about macOS, where there is no kernel sandbox", removeHint),
		"enableWeakerNetworkIsolation": d.only(false, "there is one network isolation, and no weaker one", removeHint),
		"bwrapPath":                    d.refused("no helper program is used", removeHint),
		"socatPath":                    d.refused("no helper program is used", removeHint),
		"enabledPlatforms":             d.refused("a block counts on every system", "take it out, or keep such settings in a file of their own"),
		"credentials": d.refused("credentials are not put into requests, and files are not masked in part",
			"name files with secrets in deniedPaths; commands get no variables but a few"),
	}
}

const removeHint = "take it out"

func (d *decoder) claudeNetwork(n *Network) fields {
	return fields{
		"strictAllowlist": d.once("ask", func(v value) error {
			var strict bool
			err := d.flag(&strict)(v)
			n.Ask = new(!strict)
			return err
		}),
		"allowMachLookup": d.refused("it is about macOS, where there is no kernel sandbox", removeHint),
		"tlsTerminate":    d.refused("the proxy does not look into TLS", removeHint),
	}
}

// filesystem reads Claude Code's lists of paths. There, everything may be read but
// denyRead, unless allowRead opens it again, and the working folder may be written
// besides allowWrite.
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
		"allowManagedReadPathsOnly": d.only(false, "each layer restricts reading by itself, and none opens what another closes", removeHint),
		"disabled":                  d.only(false, "files are always held", removeHint),
	})
	if err != nil {
		return err
	}
	if len(allowRead) > 0 {
		if denyRead, err = reopen(denyRead, allowRead); err != nil {
			e := &Error{Field: v.field + ".allowRead", Offset: opens, Detail: err.Error(), hint: reopenHint}
			return e
		}
		s.AllowedReadPaths = allowRead
	}
	if denyRead != nil {
		s.DeniedPaths = denyRead
	}
	return nil
}

const reopenHint = `what deniedPaths closes nothing opens: deny the folders beside it one by one, or write "denyRead": ["/"] to allow only allowRead`

type cannotReopen string

func (e cannotReopen) Error() string { return string(e) }

// reopen returns what stays denied when allowRead opens parts of "/". That is the
// one thing that allowRead can open here: then only its trees may be read.
func reopen(denyRead, allowRead []string) ([]string, error) {
	if !slices.Contains(denyRead, "/") {
		return nil, cannotReopen(`it could only open parts of "/", which denyRead does not close`)
	}
	rest := slices.DeleteFunc(slices.Clone(denyRead), func(p string) bool { return p == "/" })
	for _, open := range allowRead {
		for _, closed := range rest {
			if within(path.Clean(open), path.Clean(closed)) {
				return nil, cannotReopen("it would open " + open + " inside " + closed + ", which denyRead closes")
			}
		}
	}
	return rest, nil
}

// claudePaths reads a list of Claude Code's paths: "//x" is "/x", and "x/**" is
// the tree below x, which "x" means as well.
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

// only reads a flag that can have one value here; with the other one it is refused.
func (d *decoder) only(needed bool, why, hint string) reader {
	return func(v value) error {
		var got bool
		if err := d.flag(&got)(v); err != nil || got == needed {
			return err
		}
		return &Error{Field: v.field, Offset: v.At, Detail: why, hint: hint}
	}
}

// refused refuses a field whatever it says.
func (d *decoder) refused(why, hint string) reader {
	return func(v value) error {
		return &Error{Field: v.field, Offset: v.key, Detail: "it would have no effect: " + why, hint: hint}
	}
}

// flagOrList reads seed 000's allowUnixSockets, or Claude Code's list of sockets,
// which must be empty: only macOS can tell one socket from another.
func (d *decoder) flagOrList(into *bool) reader {
	return func(v value) error {
		if v.Kind != jsontree.List {
			return d.flag(into)(v)
		}
		var sockets []string
		return d.list(&sockets, func(string) (what, hint string) {
			return "a list of sockets works on macOS only: the kernel's filter does not see their names", "write true for all sockets among the command's own files, or take it out"
		})(v)
	}
}
