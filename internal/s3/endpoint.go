package s3

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/aws/credentials"
)

// endpoint is the location of a bucket.
type endpoint struct {
	scheme  string
	address string // host and port; "" means the host of Amazon S3 in the region
	service string // as it is signed
	region  string // from the host name, otherwise us-east-1
	named   bool   // the bucket may be part of the host name
}

// parseEndpoint parses a scheme and a host. The general hosts of Amazon are replaced by the
// dual-stack host of the region, which also supports IPv6. Hosts for a special purpose, such as
// FIPS or VPCs, are not replaced.
func parseEndpoint(address string) (endpoint, error) {
	e := endpoint{scheme: "https", service: "s3", region: "us-east-1", named: true}
	if address == "" {
		return e, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" || u.User != nil || u.RawQuery != "" {
		return e, errors.New("the endpoint is not a scheme and a host")
	}
	e.scheme, e.address = u.Scheme, u.Host
	host := strings.ToLower(u.Hostname())
	port := u.Port()
	if port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		port = "" // clients omit it from the Host header, which is signed
		if e.address = host; strings.Contains(host, ":") {
			e.address = "[" + host + "]"
		}
	}
	region, amazon := amazonHost(host)
	switch {
	case amazon && port == "":
		e.address = ""
		if region != "" {
			e.region = region
		}
	case strings.Contains(host, ".s3-outposts.") && strings.HasSuffix(host, ".amazonaws.com"):
		e.service, e.named = "s3-outposts", false
		_, rest, _ := strings.Cut(host, ".s3-outposts.")
		e.region = strings.TrimSuffix(rest, ".amazonaws.com")
	case strings.HasSuffix(strings.TrimSuffix(host, ".cn"), ".amazonaws.com") &&
		(strings.HasPrefix(host, "s3-fips") || strings.HasPrefix(host, "s3-accelerate.") || strings.Contains(host, ".vpce.")):
		if region := namedRegion(host); region != "" {
			e.region = region
		}
	default:
		e.named = host == "storage.googleapis.com" || strings.HasSuffix(host, ".aliyuncs.com")
	}
	return e, nil
}

// amazonHost reports whether a host belongs to S3 itself (s3.amazonaws.com, s3.REGION.…,
// s3-REGION.…, s3.dualstack.REGION.…), and returns its region.
func amazonHost(host string) (region string, ok bool) {
	name, ok := strings.CutSuffix(strings.TrimSuffix(host, ".cn"), ".amazonaws.com")
	if !ok {
		return "", false
	}
	if name == "s3" || name == "s3-external-1" {
		return "", true
	}
	for _, before := range []string{"s3.dualstack.", "s3.", "s3-"} {
		if region, ok := strings.CutPrefix(name, before); ok && validRegion(region) && strings.Count(region, "-") >= 2 &&
			!strings.HasPrefix(region, "fips-") && !strings.HasPrefix(region, "website-") {
			return region, true
		}
	}
	return "", false
}

// namedRegion returns the region in a special AWS host. The region is the last part that looks like
// a region.
func namedRegion(host string) (region string) {
	for part := range strings.SplitSeq(host, ".") {
		if n := strings.Count(part, "-"); n >= 2 && n <= 3 && validRegion(part) && !strings.HasPrefix(part, "s3") && !strings.HasPrefix(part, "vpce") {
			region = part
		}
	}
	return region
}

// host returns the host for requests in a region.
func (e endpoint) host(region string) string {
	if e.address != "" {
		return e.address
	}
	suffix := credentials.Suffix(region)
	if strings.HasPrefix(suffix, "amazonaws.com") {
		return "s3.dualstack." + region + "." + suffix
	}
	return "s3." + region + "." + suffix
}

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// validRegion reports whether a region is a single word. Regions become part of host names.
func validRegion(region string) bool {
	return region != "" && len(region) <= 40 && strings.Trim(region, alphanumeric+"-_") == ""
}

// checkBucket checks the name of a bucket.
func checkBucket(name string) error {
	switch {
	case len(name) < 3 || len(name) > 63:
		return fmt.Errorf("bucket %q: a name has 3 to 63 characters", name)
	case strings.Trim(name, alphanumeric+".-_") != "", strings.Contains(name, ".."), strings.Contains(name, ".-"), strings.Contains(name, "-."),
		strings.IndexByte(alphanumeric, name[0]) < 0, strings.IndexByte(alphanumeric, name[len(name)-1]) < 0:
		return fmt.Errorf("bucket %q: a name has letters, digits, dots and hyphens", name)
	case net.ParseIP(name) != nil:
		return fmt.Errorf("bucket %q: a name is not an address", name)
	case strings.HasSuffix(name, "--x-s3"):
		return fmt.Errorf("bucket %q: directory buckets (S3 Express) are not supported: they do not list keys in order", name)
	}
	return nil
}
