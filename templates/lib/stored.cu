//@ -- Results that are written together: `store` of them.
//@ takes result, second, store
struct alignas(@{store * result.bytes}) stored {
    @{result.c} value[@{store}];
};
//@ if second then

struct alignas(@{store * second.bytes}) other_stored {
    @{second.c} value[@{store}];
};
//@ end
