package s3

import (
	"net/http"
	"strings"
	"testing"
)

func TestRequestAddresses(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "https://bucket.s3.dualstack.us-east-1.amazonaws.com/a/b"},
		{Options{Region: "eu-central-1"}, "https://bucket.s3.dualstack.eu-central-1.amazonaws.com/a/b"},
		{Options{Region: "cn-north-1"}, "https://bucket.s3.dualstack.cn-north-1.amazonaws.com.cn/a/b"},
		{Options{Region: "us-iso-east-1"}, "https://bucket.s3.us-iso-east-1.c2s.ic.gov/a/b"},
		{Options{Bucket: "with.dots"}, "https://s3.dualstack.us-east-1.amazonaws.com/with.dots/a/b"},
		{Options{Style: InPath}, "https://s3.dualstack.us-east-1.amazonaws.com/bucket/a/b"},
		{Options{Endpoint: "http://s3.amazonaws.com"}, "http://bucket.s3.dualstack.us-east-1.amazonaws.com/a/b"},
		{Options{Endpoint: "https://s3.amazonaws.com:443", Region: "us-west-2"}, "https://bucket.s3.dualstack.us-west-2.amazonaws.com/a/b"},
		{Options{Endpoint: "https://s3.eu-west-1.amazonaws.com"}, "https://bucket.s3.dualstack.eu-west-1.amazonaws.com/a/b"},
		{Options{Endpoint: "https://s3-eu-west-1.amazonaws.com", Region: "eu-west-3"}, "https://bucket.s3.dualstack.eu-west-3.amazonaws.com/a/b"},
		{Options{Endpoint: "https://s3.dualstack.eu-west-1.amazonaws.com"}, "https://bucket.s3.dualstack.eu-west-1.amazonaws.com/a/b"},
		{Options{Endpoint: "https://s3.cn-north-1.amazonaws.com.cn"}, "https://bucket.s3.dualstack.cn-north-1.amazonaws.com.cn/a/b"},
		{Options{Endpoint: "https://s3-fips.us-gov-west-1.amazonaws.com"}, "https://bucket.s3-fips.us-gov-west-1.amazonaws.com/a/b"},
		{Options{Endpoint: "https://bucket.vpce-1a2b-3c4d.s3.us-east-2.vpce.amazonaws.com"}, "https://bucket.bucket.vpce-1a2b-3c4d.s3.us-east-2.vpce.amazonaws.com/a/b"},
		{Options{Endpoint: "https://x.s3-outposts.us-west-2.amazonaws.com"}, "https://x.s3-outposts.us-west-2.amazonaws.com/bucket/a/b"},
		{Options{Endpoint: "https://elb-1.us-west-2.elb.amazonaws.com"}, "https://elb-1.us-west-2.elb.amazonaws.com/bucket/a/b"},
		{Options{Endpoint: "https://storage.googleapis.com"}, "https://bucket.storage.googleapis.com/a/b"},
		{Options{Endpoint: "https://oss-cn-hangzhou.aliyuncs.com"}, "https://bucket.oss-cn-hangzhou.aliyuncs.com/a/b"},
		{Options{Endpoint: "https://minio.example:9000"}, "https://minio.example:9000/bucket/a/b"},
		{Options{Endpoint: "https://minio.example:9000", Style: InHost}, "https://bucket.minio.example:9000/a/b"},
		{Options{Endpoint: "http://127.0.0.1:80"}, "http://127.0.0.1/bucket/a/b"},
		{Options{Endpoint: "https://[::1]:443/"}, "https://[::1]/bucket/a/b"},
		{Options{Endpoint: "http://[::1]:9000"}, "http://[::1]:9000/bucket/a/b"},
		{Options{Endpoint: "https://s3.amazonaws.com.evil.example"}, "https://s3.amazonaws.com.evil.example/bucket/a/b"},
	} {
		var got, host string
		client := newClient(t, c.o, func(r *http.Request) *http.Response {
			got, host = r.URL.String(), r.Host
			return answer(204, "")
		})
		if err := client.Delete(t.Context(), "a/b"); err != nil || got != c.want {
			t.Errorf("%+v: %s, want %s (%v)", c.o, got, c.want, err)
		}
		if host != "" && !strings.Contains(c.want, "://"+host+"/") {
			t.Errorf("%+v: the host is %s", c.o, host)
		}
	}
}

func TestRegionsOfEndpoints(t *testing.T) {
	for address, want := range map[string]string{
		"":                                       "us-east-1",
		"https://s3.eu-west-1.amazonaws.com":     "eu-west-1",
		"https://s3-us-gov-west-1.amazonaws.com": "us-gov-west-1",
		"https://s3-fips.dualstack.us-east-2.amazonaws.com":                   "us-east-2",
		"https://bucket.vpce-1a2b-3c4d-5e6f.s3.eu-north-1.vpce.amazonaws.com": "eu-north-1",
		"https://x.s3-outposts.us-west-2.amazonaws.com":                       "us-west-2",
		"https://s3-accelerate.amazonaws.com":                                 "us-east-1",
		"https://minio.example":                                               "us-east-1",
	} {
		e, err := parseEndpoint(address)
		if err != nil || e.region != want {
			t.Errorf("%s: %s, want %s (%v)", address, e.region, want, err)
		}
	}
	if e, _ := parseEndpoint("https://x.s3-outposts.us-west-2.amazonaws.com"); e.service != "s3-outposts" {
		t.Errorf("signed as %s", e.service)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []Options{
		{Bucket: "ab"}, {Bucket: strings.Repeat("a", 64)}, {Bucket: "-abc"}, {Bucket: "abc."}, {Bucket: "a..b"}, {Bucket: "a/b"},
		{Bucket: "a:b"}, {Bucket: "1.2.3.4"}, {Bucket: "b--usw2-az1--x-s3"}, {Bucket: "ä-bucket"}, {Bucket: ""},
		{Bucket: "abc", Endpoint: "ftp://h"}, {Bucket: "abc", Endpoint: "h:9000"}, {Bucket: "abc", Endpoint: "http://h/path"},
		{Bucket: "abc", Endpoint: "http://u:p@h"}, {Bucket: "abc", Endpoint: "http://h?x=y"},
		{Bucket: "abc", Region: "eu/central"}, {Bucket: "abc", Region: "a.b"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	for _, name := range []string{"abc", "my-bucket.example_1", "ABC", "123"} {
		if err := checkBucket(name); err != nil {
			t.Error(err)
		}
	}
}
