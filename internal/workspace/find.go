package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// maxFound is the maximum number of folder entries that are read to find a file.
const maxFound = 100_000

// findBelow returns the paths below root that match a pattern, sorted. In each element of the
// pattern "*" matches any text. It follows no link, and does not open files that do not match. The
// last element may match a file of any type: see [OpenRegular]. A pattern without "*" is returned
// unchanged.
func findBelow(root *os.Root, pattern string) ([]string, error) {
	if !strings.Contains(pattern, "*") {
		return []string{pattern}, nil
	}
	left := maxFound
	found := []string{"."}
	for element := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, dir := range found {
			names, err := namesBelow(root, dir, element, &left)
			if err != nil {
				return nil, err
			}
			for _, n := range names {
				next = append(next, path.Join(dir, n))
			}
		}
		found = next
	}
	if len(found) == 0 {
		return nil, fileError("find", pattern, fs.ErrNotExist)
	}
	return found, nil
}

// namesBelow lists the entries of a folder that match one element of a pattern. A path that is not a folder has no
// entries.
func namesBelow(root *os.Root, dir, element string, left *int) ([]string, error) {
	if !strings.Contains(element, "*") {
		return []string{element}, nil
	}
	r, err := openBelow(root, dir)
	if err != nil {
		return nil, nil // a link, a file, or nothing: there are no entries
	}
	defer r.Close()
	f, err := r.Open(".")
	if err != nil {
		return nil, fileError("list", dir, err)
	}
	defer f.Close()
	var fit []string
	for {
		names, err := f.Readdirnames(1000)
		if *left -= len(names); *left < 0 {
			return nil, &Error{Op: "find", Path: dir, Err: ErrTooLarge, Detail: "too many files to search"}
		}
		for _, n := range names {
			if fits(n, element) {
				fit = append(fit, n)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fileError("list", dir, err)
		}
	}
	slices.Sort(fit)
	return fit, nil
}

// fits reports whether a name matches an element, in which "*" matches any text.
func fits(name, element string) bool {
	pieces := strings.Split(element, "*")
	rest, ok := strings.CutPrefix(name, pieces[0])
	if !ok {
		return false
	}
	last := len(pieces) - 1
	for _, p := range pieces[1:last] {
		at := strings.Index(rest, p)
		if at < 0 {
			return false
		}
		rest = rest[at+len(p):]
	}
	return strings.HasSuffix(rest, pieces[last])
}
