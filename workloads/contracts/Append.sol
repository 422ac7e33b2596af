pragma solidity 0.8.30;

/// Lists by key, for transactions of several reads and appends.
contract Append {
    mapping(uint256 => uint32[]) private lists;

    event Read(uint256 indexed step, uint256 indexed key, uint32[] values);

    /// Does the steps one by one: step i appends elements[i] to the list of
    /// keys[i], or reports that list when elements[i] is 0.
    function txn(uint256[] calldata keys, uint32[] calldata elements) external {
        require(keys.length == elements.length, "keys and elements differ in number");
        for (uint256 i = 0; i < keys.length; i++) {
            if (elements[i] == 0) {
                emit Read(i, keys[i], lists[keys[i]]);
            } else {
                lists[keys[i]].push(elements[i]);
            }
        }
    }
}
