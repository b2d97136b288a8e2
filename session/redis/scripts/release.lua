-- release: epoch
local l = redis.call('HMGET', LEASE, 'epoch', 'former')
if l[1] == ARGV[3] then
  redis.call('DEL', LEASE)
elseif l[2] == ARGV[3] then
  redis.call('HDEL', LEASE, 'former', 'former_lease')
end
return {'ok'}
