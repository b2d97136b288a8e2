// Check reads a built site: every link and every picture leads to a file of the site,
// and every anchor to an id in it. Links to other sites are not opened.
//
//	go -C site run ./check ../dist/site
package main

import (
	"fmt"
	"io/fs"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"
)

// A link is an address in a page.
type link struct{ page, to string }

func main() {
	log.SetFlags(0)
	log.SetPrefix("check: ")
	if len(os.Args) != 2 {
		log.Fatal("want the folder of a built site")
	}
	links, ids, err := read(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	bad := 0
	for _, l := range links {
		if why := broken(l, ids); why != "" {
			log.Printf("%s: %s: %s", l.page, l.to, why)
			bad++
		}
	}
	if bad > 0 {
		log.Fatalf("%d of %d links are broken", bad, len(links))
	}
	fmt.Printf("check: %d pages, %d links\n", len(ids), len(links))
}

// read returns the links of all pages, and their ids by page.
func read(root string) (links []link, ids map[string]map[string]bool, err error) {
	ids = map[string]map[string]bool{}
	err = filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		page, err := html.Parse(f)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		ids[name] = map[string]bool{}
		for n := range page.Descendants() {
			for _, a := range n.Attr {
				switch a.Key {
				case "id":
					ids[name][a.Val] = true
				case "href", "src":
					links = append(links, link{name, a.Val})
				}
			}
		}
		return nil
	})
	return links, ids, err
}

// broken returns why a link leads nowhere, or "".
func broken(l link, ids map[string]map[string]bool) string {
	u, err := url.Parse(l.to)
	if err != nil {
		return err.Error()
	}
	if u.IsAbs() {
		return ""
	}
	if strings.HasPrefix(u.Path, "/") || u.Host != "" {
		return "not relative: it does not work from a file"
	}
	target := l.page
	if u.Path != "" {
		target = filepath.Join(filepath.Dir(l.page), u.Path)
	}
	if info, err := os.Stat(target); err != nil || info.IsDir() {
		return "no such file"
	}
	if page := ids[target]; u.Fragment != "" && page != nil && !page[u.Fragment] {
		return "no such id"
	}
	return ""
}
