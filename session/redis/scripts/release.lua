-- release: epoch
if redis.call('HGET', LEASE, 'epoch') == ARGV[3] then
  redis.call('DEL', LEASE)
end
return {'ok'}
